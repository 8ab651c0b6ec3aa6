"""What the search proves is accepted by a checker that shares nothing with it, and nothing else is."""

from __future__ import annotations

import gzip
import json
import pickle
import random
import struct
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardwood_checker
from fuzz.cases import draw
from fuzz.checks import Trial
from hardwood import AttackModel, InvalidInputError, Problem, RobustTreeClassifier, adversarial_accuracy_bound, solve
from hardwood.proofs import write_bound_proof, write_proof
from hardwood_checker import Refused, Unusable
from hardwood_checker.__main__ import main

SEED = 20261116
HEADER_LINES = 2


def trials(first: int, count: int) -> list[Trial]:
    """Random problems of every kind that a proof can speak of."""
    found = []
    for seed in range(first, first + count):
        case = draw(seed)
        if not case.limits_leaves:
            found.append(Trial(case))
    return found


def prove(trial: Trial, path: Path) -> hardwood_checker.Verdict:
    write_proof(trial.problem, trial.result.tree, trial.result.bound, path)
    return hardwood_checker.check(path, trial.samples, trial.y, sample_weight=trial.weight)


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_every_proof_is_accepted_and_states_the_optimum_of_the_brute_force(first: int, tmp_path: Path) -> None:
    for trial in trials(first, 100):
        verdict = prove(trial, tmp_path / "p.hwp")
        least, most = trial.optima
        assert verdict.objective is not None
        assert verdict.objective <= verdict.bound + verdict.tolerance + trial.slack, trial.case
        assert least - trial.slack <= verdict.bound <= most + trial.slack, trial.case


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3200, 100))
def test_two_thousand_more_proofs_are_accepted(first: int, tmp_path: Path) -> None:
    test_every_proof_is_accepted_and_states_the_optimum_of_the_brute_force(first, tmp_path)


def parts_of(path: Path) -> tuple[dict[str, Any], bytearray]:
    """The header and the records of a proof."""
    _, header, records = gzip.decompress(path.read_bytes()).split(b"\n", HEADER_LINES)
    return json.loads(header), bytearray(records)


def join(header: dict[str, Any], records: bytes | bytearray, path: Path) -> None:
    content = b"hardwood proof 1\n" + json.dumps(header).encode() + b"\n" + bytes(records)
    path.write_bytes(gzip.compress(content, 1))


SIZES = {1: 12, 3: 0, 4: 4, 5: 13, 6: 0, 7: 0, 8: 0, 9: 0, 11: 8, 12: 0, 13: 0, 15: 4, 16: 4}
SIZE_OF_ONE = {2: 8, 10: 16, 14: 1}


def places(records: bytes | bytearray) -> list[tuple[int, int, int]]:
    """Kind, start and end of every record."""
    found, at = [], 0
    while at < len(records):
        kind = records[at]
        size = SIZES.get(kind)
        if size is None:
            (count,) = struct.unpack_from("<I", records, at + 1)
            size = 4 + count * SIZE_OF_ONE[kind]
        found.append((kind, at, at + 1 + size))
        at += 1 + size
    return found


def damage(rng: random.Random, header: dict[str, Any], records: bytearray) -> str:
    """Change a proof in one meaningful way; returns what was done."""
    found = places(records)
    kinds = "claim drop swap number share bytes cut twice tree attack heavy reset note twin twin forget"
    kind = rng.choice(kinds.split())
    if kind == "claim":
        header["claim"]["bound"] += rng.choice([1, 65536, 10**6])
    elif kind == "drop":
        _, start, end = rng.choice(found)
        del records[start:end]
    elif kind == "twice":
        _, start, end = rng.choice(found)
        records[start:start] = records[start:end]
    elif kind == "swap":
        (_, a, b), (_, c, d) = sorted(rng.sample(found, 2), key=lambda place: place[1]) if len(found) > 1 else found * 2
        records[a:d] = records[c:d] + records[b:c] + records[a:b]
    elif kind == "number" and any(place[0] in (1, 5, 10, 11) for place in found):
        _, start, end = rng.choice([place for place in found if place[0] in (1, 5, 10, 11)])
        records[rng.randrange(start + 1, end)] ^= 1 << rng.randrange(8)
    elif kind == "share" and any(place[0] == 2 for place in found):
        _, start, end = rng.choice([place for place in found if place[0] == 2])
        records[rng.randrange(start + 5, end)] = rng.randrange(256)
    elif kind in ("reset", "note"):
        _, start, _ = rng.choice(found)
        records[start:start] = bytes([13]) if kind == "reset" else bytes([14, 3, 0, 0, 0, 1, 2, 12])
    elif kind in ("twin", "forget"):
        _, start, _ = rng.choice([place for place in found if place[0] in (1, 6, 7)] or found)
        code = bytes([15 if kind == "twin" else 16]) + struct.pack("<I", rng.randrange(6))
        (_, a, b), (_, c, d) = sorted([rng.choice(found), rng.choice(found)], key=lambda place: place[1])
        records[start:start] = code + (records[a:d] + bytes([7]) if kind == "twin" else b"")
    elif kind == "cut":
        del records[rng.randrange(len(records)) :]
    elif kind == "tree":
        node = rng.randrange(len(header["tree"]["label"]))
        if header["tree"]["left"][node] < 0:
            header["tree"]["label"][node] = rng.randrange(len(header["classes"]))
        else:
            header["tree"]["threshold"][node] += rng.choice([-1, 1]) * rng.random()
    elif kind == "attack":
        header["digest"] = header["digest"][::-1]
    elif kind == "heavy":
        header["heavy"] = rng.choice([1, header["heavy"] * 2, -5])
    else:
        for _ in range(rng.randrange(1, 4)):
            records[rng.randrange(len(records))] = rng.randrange(256)
    return kind


def reject_or_true(trial: Trial, path: Path) -> bool:
    """Whether a damaged proof was rejected; what is accepted must be true."""
    try:
        verdict = hardwood_checker.check(path, trial.samples, trial.y, sample_weight=trial.weight)
    except (Refused, Unusable):
        return True
    assert verdict.bound <= trial.optima[1] + trial.slack, trial.case
    if verdict.objective is not None:
        assert verdict.objective >= trial.optima[0] - trial.slack, trial.case
    return False


def check_damaged(first: int, count: int, times: int, folder: Path) -> int:
    rejected = 0
    for trial in trials(first, count):
        path = folder / "p.hwp"
        path.unlink(missing_ok=True)
        if trial.case.seed % 2:
            solve(trial.problem, checkpoint=path, n_jobs=2)  # several streams, with RESET and NOTE
        else:
            write_proof(trial.problem, trial.result.tree, trial.result.bound, path)
        header, records = parts_of(path)
        for turn in range(times):
            rng = random.Random(f"{SEED} {trial.case.seed} {turn}")
            changed = json.loads(json.dumps(header)), bytearray(records)
            damage(rng, *changed)
            join(*changed, path)
            rejected += reject_or_true(trial, path)
    return rejected


def test_no_damaged_proof_of_something_false_is_accepted(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    assert check_damaged(5000, 60, 12, tmp_path) > 100


@pytest.mark.slow
@pytest.mark.parametrize("first", range(6000, 7000, 100))
def test_ten_thousand_damaged_proofs(first: int, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    assert check_damaged(first, 100, 12, tmp_path) > 300


def small_problem(depth: int = 3) -> tuple[Any, Any, Problem]:
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 20, (60, 3)) / 10
    y = (X[:, 0] + rng.normal(0, 0.5, 60) > 1).astype(int)
    return X, y, Problem.from_data(X, y, 0.1, depth)


def test_other_data_another_radius_and_flipped_labels_are_not_what_the_proof_is_about(tmp_path: Path) -> None:
    X, y, problem = small_problem()
    result = solve(problem, "search")
    result.write_proof(tmp_path / "p.hwp")
    assert hardwood_checker.check(tmp_path / "p.hwp", X, y).is_optimal
    moved, flipped = X.copy(), y.copy()
    moved[7, 1] += 0.1
    flipped[11] = 1 - flipped[11]
    for data in ((moved, y), (X, flipped), (X[:-1], y[:-1]), (X[:, ::-1], y)):
        with pytest.raises(Unusable):
            hardwood_checker.check(tmp_path / "p.hwp", *data)
    header, records = parts_of(tmp_path / "p.hwp")
    header["attack"][0]["columns"][0]["up"] = 0.2
    join(header, records, tmp_path / "q.hwp")
    with pytest.raises(Unusable, match="not the data"):
        hardwood_checker.check(tmp_path / "q.hwp", X, y)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_claim_above_the_optimum_is_refused(depth: int, tmp_path: Path) -> None:
    X, y, problem = small_problem(depth)
    solve(problem, "search").write_proof(tmp_path / "p.hwp")
    header, records = parts_of(tmp_path / "p.hwp")
    header["claim"]["bound"] += 2 * 65536
    kinds = places(records)
    for kind, start, _ in kinds:
        if kind == 11:
            struct.pack_into("<q", records, start + 1, header["claim"]["bound"])
    join(header, records, tmp_path / "q.hwp")
    with pytest.raises(Refused):
        hardwood_checker.check(tmp_path / "q.hwp", X, y)


def test_a_stopped_run_proves_the_bound_that_it_reached(tmp_path: Path) -> None:
    X, y, problem = small_problem()
    result = solve(problem, "search", max_gap=0.3)
    result.write_proof(tmp_path / "p.hwp")
    verdict = hardwood_checker.check(tmp_path / "p.hwp", X, y)
    assert float(verdict.bound) >= result.bound
    assert verdict.objective == Fraction(result.objective)


def test_the_bound_on_any_model_is_a_proof_too(tmp_path: Path) -> None:
    X, y, _ = small_problem()
    bound = adversarial_accuracy_bound(X, y, 0.1)
    write_bound_proof(bound, tmp_path / "b.hwp")
    verdict = hardwood_checker.check(tmp_path / "b.hwp", X, y)
    assert verdict.bound == Fraction(bound.errors)
    assert str(verdict).startswith("proven: every model loses at least")


@pytest.mark.parametrize("copies", [2, 3, 5])
def test_the_proof_of_the_bound_counts_samples_that_occur_equally_often(copies: int, tmp_path: Path) -> None:
    # The merged weights have a common divisor, so a part of the proof's scale is worth several samples.
    X = np.repeat([[1.0], [1.0], [5.0]], copies, axis=0)
    y = np.repeat([0, 1, 1], copies)
    bound = adversarial_accuracy_bound(X, y, 0.0)
    write_bound_proof(bound, tmp_path / "b.hwp")
    assert hardwood_checker.check(tmp_path / "b.hwp", X, y).bound == Fraction(bound.errors) == copies


def test_the_checker_says_that_leaves_are_counted(tmp_path: Path) -> None:
    X, y, problem = small_problem(2)
    for penalty, words in ((0, "loses at least"), (2, "costs (lost samples and 2 a leaf) at least")):
        solve(problem.replace(leaf_penalty=penalty), "search").write_proof(tmp_path / "p.hwp")
        assert words in str(hardwood_checker.check(tmp_path / "p.hwp", X, y))


def test_a_bound_may_be_the_largest_number(tmp_path: Path) -> None:
    largest = float(np.finfo(np.float64).max)
    X, y = [[0.0], [1e308], [largest]], [0, 1, 0]
    for attack in (
        AttackModel.parse(1e308).with_bounds(maximum={0: largest}),
        AttackModel.parse("<>").with_bounds(minimum={0: -largest}),
    ):
        result = solve(Problem.from_data(X, y, attack, 1), "search")
        result.write_proof(tmp_path / "p.hwp")
        assert hardwood_checker.check(tmp_path / "p.hwp", X, y).objective == Fraction(result.objective)


def test_what_a_proof_cannot_say_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    X, y, _ = small_problem()
    for limit in ({"min_samples_leaf": 3}, {"min_weight_fraction_leaf": 0.1}):
        result = solve(Problem.from_data(X, y, 0.1, 2, **limit), "search")
        with pytest.raises(InvalidInputError, match=next(iter(limit))):
            result.write_proof(tmp_path / "p.hwp")
    assert list(tmp_path.iterdir()) == []


def test_a_stored_result_does_not_carry_the_data() -> None:
    _, _, problem = small_problem(2)
    copy = pickle.loads(pickle.dumps(solve(problem, "search")))
    assert copy.problem is None
    with pytest.raises(InvalidInputError, match="does not know its data"):
        copy.write_proof("nowhere.hwp")


def test_an_estimator_writes_a_proof_of_its_fit(tmp_path: Path) -> None:
    X, y, _ = small_problem()
    attack = AttackModel.fraction_of_range(0.05)
    clf = RobustTreeClassifier(2, attack=attack, proof=tmp_path / "p.hwp").fit(X.astype(np.float32), y)
    verdict = hardwood_checker.check(tmp_path / "p.hwp", X.astype(np.float32), y)
    assert verdict.objective == Fraction(clf.result_.objective)
    assert verdict.is_optimal


def write_csv(path: Path, X: Any, y: Any) -> None:
    lines = [f"{a!r};{b!r};{c!r};{'spam' if label else 'ham'}" for (a, b, c), label in zip(X.tolist(), y, strict=True)]
    path.write_text("length;links;age;kind\n" + "\n".join(lines) + "\n")


def test_the_command_lines_of_both_programs_work_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from typer.testing import CliRunner

    from hardwood.cli.app import app, register_commands

    register_commands()
    X, y, _ = small_problem()
    data, proof, model = tmp_path / "d.csv", tmp_path / "p.hwp", tmp_path / "m.json"
    write_csv(data, X, y)
    common = [str(data), "--target", "kind"]
    fit = ["fit", *common, "--attack", "5%", "--depth", "2", "-o", str(model), "--proof", str(proof)]
    assert CliRunner().invoke(app, fit).exit_code == 0
    assert main([str(proof), str(data), "--explain"]) == 0
    shown = capsys.readouterr().out
    assert "proven: every tree of depth 2 loses at least" in shown
    assert "records:" in shown
    certify = ["certify", str(model), *common, "-o", str(tmp_path / "c.hwp"), "--depth", "1"]
    ended = CliRunner().invoke(
        app, ["fit", *common, "--attack", "5%", "--solver", "greedy", "--depth", "1", "-o", str(model)]
    )
    assert ended.exit_code == 0
    ended = CliRunner().invoke(app, certify)
    assert ended.exit_code == 0, ended.output
    assert main([str(tmp_path / "c.hwp"), str(data)]) == 0
    data.write_text(data.read_text().replace("ham", "spam", 1))
    assert main([str(proof), str(data)]) == 2
    proof.write_bytes(b"nonsense")
    assert main([str(proof), str(data)]) == 2


def test_the_checker_refuses_with_the_place_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, problem = small_problem(2)
    solve(problem, "search").write_proof(tmp_path / "p.hwp", target="kind")
    header, records = parts_of(tmp_path / "p.hwp")
    ranges = [place for place in places(records) if place[0] == 1]
    assert ranges, "this problem needs a search"
    end = next(place for place in places(records) if place[1] > ranges[0][1] and place[0] == 3)
    del records[ranges[0][1] : end[2]]
    join(header, records, tmp_path / "q.hwp")
    with pytest.raises(Refused, match=r"threshold \d+ of feature \d+ is only proven to cost"):
        hardwood_checker.check(tmp_path / "q.hwp", X, y)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 10**12},
        {"columns": []},
        {"classes": [0]},
        {"scale": [0, 1]},
        {"scale": [2**61, 1]},
        {"heavy": 2**62},
        {"claim": {"depth": 10**9, "bound": 1, "leaf_penalty": 0}},
        {"claim": None},
        {"attack": "all"},
        {"tree": {"feature": [0], "threshold": [0], "left": [5], "right": [6], "label": [0]}},
        {"tree": {"feature": [True, -1], "threshold": [0, 0], "left": [1, -1], "right": [2, -1], "label": [0, 0]}},
        {"weights": [1e308] * 60},
        {"weights": [10**400] * 60},
    ],
)
def test_impossible_headers_are_unusable(change: dict[str, Any], tmp_path: Path) -> None:
    X, y, problem = small_problem(2)
    solve(problem, "search").write_proof(tmp_path / "p.hwp")
    header, records = parts_of(tmp_path / "p.hwp")
    join({**header, **change}, records, tmp_path / "q.hwp")
    with pytest.raises((Unusable, Refused)):
        hardwood_checker.check(tmp_path / "q.hwp", X, y)


@pytest.mark.parametrize("radius", [2**70, 10**400, True, "far"])
@pytest.mark.parametrize("name", ["down", "minimum"])
def test_impossible_radii_and_bounds_are_unusable(name: str, radius: Any, tmp_path: Path) -> None:
    X, y, problem = small_problem(2)
    solve(problem, "search").write_proof(tmp_path / "p.hwp")
    header, records = parts_of(tmp_path / "p.hwp")
    header["attack"][0]["columns"][0][name] = radius
    join(header, records, tmp_path / "q.hwp")
    with pytest.raises(Unusable):
        hardwood_checker.check(tmp_path / "q.hwp", X, y)


def test_a_file_that_announces_more_than_memory_holds_is_unusable(tmp_path: Path) -> None:
    X, y, problem = small_problem(2)
    solve(problem, "search").write_proof(tmp_path / "p.hwp")
    header, _ = parts_of(tmp_path / "p.hwp")
    for records in (
        bytes([10]) + struct.pack("<I", 2**32 - 1),
        bytes([1]) + struct.pack("<III", 0, 0, 0) + bytes([2]) + struct.pack("<I", 2**32 - 1),
    ):
        join(header, records, tmp_path / "q.hwp")
        with pytest.raises(Unusable, match="announces"):
            hardwood_checker.check(tmp_path / "q.hwp", X, y)


def test_the_checker_imports_nothing_of_hardwood() -> None:
    import subprocess
    import sys

    code = "import hardwood_checker.__main__, sys; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name for name in loaded if name.split(".")[0] in ("hardwood", "scipy", "sklearn")}
