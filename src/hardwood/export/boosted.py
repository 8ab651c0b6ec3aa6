"""One tree of many: what boosted ensembles of all libraries share."""

from __future__ import annotations

from hardwood.errors import InvalidInputError


def chosen_tree(tree: int | None, count: int) -> int:
    """Return the number of the tree to convert: the one asked for, or the only one."""
    if tree is None:
        if count != 1:
            raise InvalidInputError(
                f"the model adds up the scores of {count} trees, which a single tree or a vote cannot express; "
                "say which one to convert with tree=..., or learn with one round"
            )
        return 0
    if not 0 <= tree < count:
        raise InvalidInputError(f"tree={tree!r}; the model has trees 0 to {count - 1}")
    return tree
