"""Trees while they are built, from the root down and without recursion, however deep they become.

Whoever builds a tree (a learner, a conversion, a repair) says what one node is, given what it needs to know there: a
leaf with its answer, or a split and what its children need to know. `grow` asks for one node after the other and writes
the columns that all forms of a tree consist of; children stand behind their parents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

State = TypeVar("State")

NONE = -1
"""What stands for a child or a feature where there is none."""


class Leaf(NamedTuple):
    """A node that answers."""

    answer: Any


class Fork(NamedTuple, Generic[State]):
    """A node that asks ``x[feature] <= threshold``, and what is known where the answer is yes (left) and no (right)."""

    feature: int
    threshold: Any
    left: State
    right: State


@dataclass
class Draft:
    """The columns of a tree.

    Attributes
    ----------
    feature, left, right : list of int
        -1 at leaves.
    threshold : list
        Numbers or indices, as the builder has it; None at leaves.
    answer : list
        Class indices, or what else the builder's leaves say; None at splits.
    """

    feature: list[int] = field(default_factory=list)
    threshold: list[Any] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    answer: list[Any] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.feature)

    def add(self, node: Leaf | Fork[Any]) -> int:
        """Append a node without children yet, and return where it stands."""
        feature, threshold, answer = (NONE, None, node.answer) if isinstance(node, Leaf) else (*node[:2], None)
        self.feature.append(feature)
        self.threshold.append(threshold)
        self.left.append(NONE)
        self.right.append(NONE)
        self.answer.append(answer)
        return len(self) - 1

    def is_leaf(self, node: int) -> bool:
        """Whether a node answers."""
        return self.left[node] < 0

    def cut(self, node: int, answer: Any) -> None:
        """Make a leaf of a split; what was below it is no longer reached, see `reached`."""
        self.feature[node], self.threshold[node], self.answer[node] = NONE, None, answer
        self.left[node] = self.right[node] = NONE

    def reached(self) -> tuple[Draft, list[int]]:
        """Return the draft without the nodes below cuts, and where each of its nodes stood before."""
        origin: list[int] = []

        def copy(node: int) -> Leaf | Fork[int]:
            origin.append(node)
            if self.is_leaf(node):
                return Leaf(self.answer[node])
            return Fork(self.feature[node], self.threshold[node], self.left[node], self.right[node])

        return grow(0, copy), origin


def grow(root: State, decide: Callable[[State], Leaf | Fork[State]]) -> Draft:
    """Build a tree node by node, each left side before the right one.

    Parameters
    ----------
    root : object
        What is known at the root.
    decide : callable
        Makes a node of what is known there. It is called in the order in which the nodes stand in the result.
    """
    draft = Draft()
    # Children still to be asked for, the next one last, each with the list of its siblings' positions to write to.
    waiting: list[tuple[State, list[int], int]] = [(root, [NONE], 0)]
    while waiting:
        state, siblings, parent = waiting.pop()
        node = decide(state)
        position = siblings[parent] = draft.add(node)
        if isinstance(node, Fork):
            waiting.append((node.right, draft.right, position))
            waiting.append((node.left, draft.left, position))
    return draft
