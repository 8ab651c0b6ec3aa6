from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hardwood import InvalidInputError
from hardwood.data import datasets, openml


def openml_bunch(data: datasets.Dataset, labels: tuple[str, str]) -> SimpleNamespace:
    """What scikit-learn's ``fetch_openml`` returns: labels as text, and rows with missing values still there."""
    holes = np.full((2, data.X.shape[1]), 1.0)
    holes[:, 0] = np.nan
    target = np.array([labels[code] for code in data.y], dtype=object)
    return SimpleNamespace(
        data=np.concatenate([holes[:1], data.X, holes[1:]]),
        target=np.concatenate([[labels[0]], target, [labels[1]]]),
        feature_names=list(data.feature_names),
    )


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(datasets.DATA_VARIABLE, raising=False)
    monkeypatch.setenv(openml.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def serve(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[dict[str, Any]]:
    """Let ``fetch_openml`` return, or raise, `answer`; returns the list of its calls."""
    calls = []

    def fetch_openml(**arguments: Any) -> Any:
        calls.append(arguments)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return calls


def test_every_file_has_the_checksum_of_its_source(paper_data: Path) -> None:
    for name, source in openml.SOURCES.items():
        data = datasets.load(name, paper_data)
        assert openml.digest(data.X, data.y) == source.checksum, name
    assert set(openml.SOURCES) == set(datasets.PAPER_RADII)


@pytest.mark.parametrize(
    ("name", "labels"), [("haberman", ("1", "2")), ("breast-cancer", ("benign", "malignant")), ("wine", ("7", "5"))]
)
def test_openml_gives_the_same_table_as_the_file_and_is_asked_once(
    name: str, labels: tuple[str, str], paper_data: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = datasets.load(name, paper_data)
    calls = serve(monkeypatch, openml_bunch(expected, labels))
    for _ in range(2):
        found = datasets.load(name)
        assert np.array_equal(found.X, expected.X)
        assert np.array_equal(found.y, expected.y)
        assert found.feature_names == expected.feature_names
    assert [call["data_id"] for call in calls] == [openml.SOURCES[name].data_id]
    assert (empty_cache / f"{name}.csv").is_file()


def test_other_data_than_the_papers_is_refused_and_not_cached(
    paper_data: Path, empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = datasets.load("haberman", paper_data)
    changed = datasets.Dataset("haberman", data.X + (np.arange(len(data.X)) == 7)[:, None], data.y, data.feature_names)
    serve(monkeypatch, openml_bunch(changed, ("1", "2")))
    with pytest.raises(InvalidInputError, match="is not the paper's: checksum"):
        datasets.load("haberman")
    assert not (empty_cache / "haberman.csv").exists()


def test_offline_and_not_cached_says_both_ways_out(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, OSError("no route to host"))
    with pytest.raises(InvalidInputError, match="connect to the internet") as caught:
        datasets.load("wine")
    assert str(empty_cache) in str(caught.value)
    assert "HARDWOOD_DATA" in str(caught.value)


def test_the_cache_lies_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(openml.CACHE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert openml.cache_folder() == Path("/somewhere/hardwood")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert openml.cache_folder() == Path.home() / ".cache" / "hardwood"


def test_seeds_split_differently_but_keep_the_shares(paper_data: Path) -> None:
    data = datasets.load("haberman", paper_data)
    splits = [datasets.paper_split(data.X, data.y, seed) for seed in (0, 1)]
    assert not np.array_equal(splits[0].X_train, splits[1].X_train)
    assert [split.y_train.sum() for split in splits] == [splits[0].y_train.sum()] * 2


def test_made_up_sets_fill_the_unit_square() -> None:
    for X, y in (datasets.make_moons(60), datasets.make_blobs(60, n_classes=3), datasets.make_xor()):
        assert X.min(axis=0).tolist() == [0, 0]
        assert X.max(axis=0).tolist() == [1, 1]
        assert len(X) == len(y)
    assert set(datasets.make_blobs(60, n_classes=3)[1]) == {0, 1, 2}
    assert np.array_equal(datasets.make_moons(random_state=3)[0], datasets.make_moons(random_state=3)[0])
