# Everything runs in .venv, which is made on first use: python3, pip and make are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# Where the paper's data sets lie, if anywhere; the tests and benchmarks that need them say so when they are missing.
HARDWOOD_DATA ?= $(wildcard $(abspath ../shared/data))
export HARDWOOD_DATA

.PHONY: demo test test-all lint types install core bench fuzz docs clean

demo: $(INSTALLED)
	$(BIN)/hardwood demo

test: lint types
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov --cov-report=term:skip-covered

test-all: lint types
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[judges]'
	$(BIN)/python -m pytest -n 2

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(INSTALLED)
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m benchmarks

# Random problems against a brute force, and solvers against each other; failures are saved in fuzz-failures/.
MINUTES ?= 5
fuzz: $(INSTALLED)
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

$(VENV)/.docs: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

install: $(INSTALLED)

# The core alone, after a change of its sources, with warnings as errors; needs cmake, ninja and nanobind.
core:
	cmake -S . -B build/dev -G Ninja -DHARDWOOD_STRICT=ON -DPython_EXECUTABLE="$$(command -v python3)" > /dev/null
	cmake --build build/dev

$(INSTALLED): pyproject.toml CMakeLists.txt $(wildcard src/core/*.h src/core/*.cpp src/core/*/*.h src/core/*/*.cpp)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/hardwood warm-up
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage docs/_build
