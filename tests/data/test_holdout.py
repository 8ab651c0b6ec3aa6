from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hardwood import InvalidInputError
from hardwood.data.holdout import hold_out


@pytest.mark.parametrize("seed", range(30))
def test_every_class_gives_its_share(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes = np.array(["a", "b", "c", "d"][: int(rng.integers(2, 5))])
    y = np.concatenate([np.repeat(classes, 2), rng.choice(classes, int(rng.integers(20, 90)))])
    share = float(rng.choice([0.2, 0.25, 0.5]))
    kept, test = hold_out(y, share, seed)
    assert sorted([*kept, *test]) == list(range(len(y)))
    assert len(test) == int(np.ceil(round(share * len(y), 9)))
    for name in classes:
        assert abs((y[test] == name).sum() - share * (y == name).sum()) < 1 + len(classes) / len(y)
    again, other = hold_out(y, share, seed), hold_out(y, share, seed + 1)
    assert np.array_equal(again[1], test)
    assert not np.array_equal(other[1], test)


def test_every_row_is_held_out_as_often_as_others() -> None:
    y = np.arange(20) % 2
    times = np.sum([np.bincount(hold_out(y, 0.2, seed)[1], minlength=20) for seed in range(1000)], axis=0)
    assert abs(times - 200).max() < 80, times  # more than six standard deviations


@pytest.mark.parametrize(
    ("y", "share", "said"),
    [
        (["a"] * 9 + ["b"], 0.2, "of class 'b' there is one row only"),
        ([0, 0, 1, 1], 0.2, "of 4 rows cannot be held out with all of the 2 classes on both sides"),
        ([0, 0, 1, 1], 1.0, "1 of the data cannot be held out; it must be above 0 and below 1"),
        ([0, 0, 1, 1], float("nan"), "nan of the data cannot be held out"),
    ],
)
def test_what_cannot_be_held_out_is_refused(y: list[object], share: float, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        hold_out(np.array(y), share, 0)


def test_learning_from_a_file_does_not_wait_for_scikit_learn(tmp_path: object) -> None:
    code = (
        "import sys; from hardwood.cli.app import main; from pathlib import Path; import hardwood.cli; "
        f"p = Path({str(tmp_path)!r}) / 'd.csv'; "
        "p.write_text('x,y\\n' + ''.join(f'{k},{k > 9}\\n' for k in range(20))); "
        "sys.argv = ['hardwood', 'fit', str(p), '-t', 'y', '-a', '0.1', '--depth', '1']\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False", done.stdout + done.stderr
