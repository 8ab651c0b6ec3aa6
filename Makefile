# Everything runs in .venv, which is made on first use: python3, pip, make and a C++ compiler are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# What a user needs, and what a developer needs: the demo waits for the first only.
USER := $(VENV)/.user
DEV := $(VENV)/.dev
CORE := $(wildcard src/core/*.h src/core/*.cpp src/core/*/*.h src/core/*/*.cpp)
# Where the paper's data sets lie, if anywhere; the tests and benchmarks that need them say so when they are missing.
HARDWOOD_DATA ?= $(wildcard $(abspath ../shared/data))
export HARDWOOD_DATA

.PHONY: demo test test-all lint lint-core types install core sanitize sanitize-threads bench fuzz docs linkcheck dist clean compiler

demo: $(USER)
	$(BIN)/hardwood demo

test: lint types
	$(BIN)/python -m pytest -n 2 -m "not slow" --cov --cov-report=term:skip-covered

test-all: lint types
	$(PIP) --editable '.[judges]'
	$(BIN)/python -m pytest -n 2

lint: $(DEV) lint-core
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types: $(DEV)
	$(BIN)/mypy

bench: $(DEV)
	$(PIP) --editable '.[bench]'
	$(BIN)/python -m benchmarks

# Random problems against a brute force, and solvers against each other; failures are saved in fuzz-failures/.
MINUTES ?= 5
fuzz: $(DEV)
	PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(MINUTES)

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# Links that lead out of the repository; needs the internet. Those inside are checked by `make docs` and the tests.
linkcheck: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -b linkcheck docs docs/_build/linkcheck
	$(BIN)/python docs/links.py

$(VENV)/.docs: $(DEV)
	$(PIP) --editable '.[docs]'
	touch $@

install: $(DEV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(USER): pyproject.toml CMakeLists.txt $(CORE) | compiler $(BIN)/python
	$(PIP) --editable .
	touch $@

$(DEV): pyproject.toml CMakeLists.txt $(CORE) | compiler $(BIN)/python
	$(PIP) --editable '.[dev]'
	touch $@ $(USER)

compiler:
	@for c in "$$CXX" c++ g++ clang++; do test -n "$$c" && command -v "$$c" > /dev/null && exit 0; done; \
	echo "hardwood needs a C++ compiler to be built, and none was found: install g++ or clang++." >&2; exit 1

# --- The core alone, for those who change it; with the tools of .venv, or those on the PATH where there is none. ---
TOOLS := PATH="$(abspath $(BIN)):$$PATH"
CMAKE := $(TOOLS) cmake -G Ninja -S . -DPython_EXECUTABLE="$$($(TOOLS) command -v python3)"

# After a change of its sources; warnings are errors.
core:
	$(CMAKE) -B build/dev -DHARDWOOD_STRICT=ON > /dev/null
	$(TOOLS) cmake --build build/dev
	@touch -c $(USER) $(DEV)

# With AddressSanitizer, UndefinedBehaviorSanitizer and checked spans, in a folder of its own beside a copy of the package:
# the tests of the core, then a fuzz of so many seconds.
SECONDS ?= 300
sanitize: SANITIZED := build/sanitize
sanitize: SANITIZERS := address,undefined
sanitize: PRELOADED := libasan.so
sanitize:
	$(build_sanitized)
	$(SANITIZER) pytest $(SANITIZED_TESTS) tests/core
	$(SANITIZER) core.fuzz --seconds $(SECONDS)

# With ThreadSanitizer: what has threads of its own.
sanitize-threads: SANITIZED := build/sanitize-threads
sanitize-threads: SANITIZERS := thread
sanitize-threads: PRELOADED := libtsan.so
sanitize-threads:
	$(build_sanitized)
	$(SANITIZER) pytest $(SANITIZED_TESTS) -m "not slow" $(THREADED)

SANITIZED_TESTS := -q -p no:cacheprovider -p no:xdist --no-cov
THREADED := tests/core/test_search_core.py tests/core/test_search_state.py tests/core/test_coarse.py tests/solvers/test_search.py \
	tests/solvers/test_helping.py tests/solvers/test_spread.py tests/ensembles/test_verification.py tests/estimators/test_forest.py \
	tests/estimators/test_boosting.py

define build_sanitized
$(CMAKE) -B $(SANITIZED)/build -DCMAKE_BUILD_TYPE=None -DHARDWOOD_STRICT=ON -DHARDWOOD_SANITIZE=$(SANITIZERS) \
	-DHARDWOOD_CHECKED=ON -DHARDWOOD_OUTPUT=$(abspath $(SANITIZED))/site/hardwood > /dev/null
$(TOOLS) cmake --build $(SANITIZED)/build
tar -C src --exclude='_core*.so' --exclude=__pycache__ -cf - hardwood | tar -C $(SANITIZED)/site -xf -
endef

# Python itself is not built with sanitizers, so their libraries are loaded before it.
SANITIZER = $(TOOLS) PYTHONPATH=$(abspath tests) ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_signal_unsafe=0 \
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=$(PRELOADED)) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	python3 -m core.built_elsewhere $(SANITIZED)/site

# clang-format, whose versions differ, from .venv; clang-tidy where it is installed and `make core` has run, after changes
# of the core.
lint-core: $(DEV)
	@$(BIN)/clang-format --dry-run -Werror $(CORE)
	@if command -v clang-tidy > /dev/null && test -e build/dev/compile_commands.json; then $(MAKE) -s build/dev/.tidy; \
	else echo "clang-tidy is not installed, or make core has not run: skipped"; fi

build/dev/.tidy: .clang-tidy $(CORE)
	clang-tidy --quiet -p build/dev $(filter %.cpp,$(CORE)) 2> /dev/null
	touch $@

# Wheel and source distribution; the wheel is then installed and tried where no compiler is.
dist: | compiler $(BIN)/python
	$(PIP) build
	rm -rf dist build/dist
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv build/dist
	env PATH="$(abspath build/dist/bin)" CXX= build/dist/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/dist && env PATH="$(abspath build/dist/bin)" ./bin/hardwood demo
	ls -l dist

clean:
	rm -rf $(VENV) build dist src/hardwood/_core*.so .cmake .ninja_* .skbuild-info.json
	rm -rf CMakeCache.txt CMakeFiles CMakeInit.txt build.ninja cmake_install.cmake compile_commands.json libnanobind*.a
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage docs/_build
