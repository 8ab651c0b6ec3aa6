"""The lines of a results file: which experiment was run, and what came out of each of its cells.

Version 1, without an entry ``version``, is what hardwood 0.1 wrote; its fields are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from hardwood.data.fields import Fields
from hardwood.errors import InvalidInputError
from hardwood.experiments.cells import Cell, cell_from_fields, key_of
from hardwood.experiments.grid import Grid
from hardwood.experiments.outcomes import Failure, Outcome, outcome_from_fields

VERSION = 2


@dataclass(frozen=True)
class Machine:
    """Where a cell was run."""

    system: str
    processor: str
    cores: int | None


@dataclass(frozen=True)
class CellRecord:
    """One cell that was run.

    Attributes
    ----------
    cell : Cell
    outcome : FitOutcome, BoundOutcome, CurveOutcome or Failure
    total_seconds : float
    finished : str
        Date and time.
    versions : dict
        Of hardwood, Python and the libraries that matter.
    machine : Machine
    version : int
        Of the format.
    """

    cell: Cell
    outcome: Outcome | Failure
    total_seconds: float
    finished: str
    versions: dict[str, str]
    machine: Machine
    version: int = field(default=VERSION, compare=False)

    @property
    def key(self) -> str:
        """What the cell is found by."""
        return key_of(self.cell)

    @property
    def has_failed(self) -> bool:
        """Whether the cell failed."""
        return isinstance(self.outcome, Failure)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        outcome = (
            {"ok": False, **vars(self.outcome)}
            if isinstance(self.outcome, Failure)
            else {"ok": True, "result": self.outcome.to_dict()}
        )
        return {
            "record": "cell",
            "version": self.version,
            "key": self.key,
            "cell": self.cell.to_dict(),
            **outcome,
            "total_seconds": self.total_seconds,
            "finished": self.finished,
            "versions": self.versions,
            "machine": vars(self.machine),
        }

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        cell = cell_from_fields(given.table("cell"))
        if given.text("key") != key_of(cell):
            given.refuse("key", f"{key_of(cell)!r}, the key of its cell")
        machine = given.table("machine")
        versions = given.table("versions")
        return cls(
            cell=cell,
            outcome=outcome_from_fields(cell.kind, given.table("result"))
            if given.flag("ok")
            else Failure(given.text("error"), given.text("traceback", "")),
            total_seconds=given.number("total_seconds"),
            finished=given.text("finished"),
            versions={name: versions.text(name) for name in versions.data},
            machine=Machine(
                machine.text("system"),
                machine.text("processor"),
                machine.whole("cores") if machine.is_given("cores") else None,
            ),
            version=_version(given),
        )


Record = Grid | CellRecord


def record_from_dict(data: Any) -> Record:
    """Read one line of a results file."""
    given = Fields(data, "the record")
    kind = given.text("record")
    if kind == "grid":
        _version(given)
        return Grid.from_fields(given)
    if kind != "cell":
        given.refuse("record", "'grid' or 'cell'")
    return CellRecord.from_fields(given)


def record_to_dict(record: Record) -> dict[str, Any]:
    """Return a record as one line of a results file holds it."""
    if isinstance(record, CellRecord):
        return replace(record, version=VERSION).to_dict()
    return {"record": "grid", "version": VERSION, **record.to_dict()}


def _version(given: Fields) -> int:
    version: int = given.whole("version", 1, least=1)
    if version > VERSION:
        raise InvalidInputError(
            f"{given.where} is of version {version}; this hardwood reads up to version {VERSION}, a newer one is needed"
        )
    return version
