"""Decision trees an attacker cannot fool, with a proof of how good they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hardwood._version import __version__
from hardwood.attack.model import AttackModel
from hardwood.attack.rules import AttackRules
from hardwood.bounds import adversarial_accuracy_bound, choose_epsilons, epsilon_curve, robust_feature_report
from hardwood.errors import (
    HardwoodError,
    InvalidInputError,
    MissingEngineError,
    OneHotWarning,
    SolverError,
    WholeNumbersWarning,
)
from hardwood.evaluation.adversarial import attack_samples, robust_radius
from hardwood.evaluation.costs import AttackCosts, attack_cost
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.export.model_file import Model, load_model
from hardwood.problem.problem import Problem
from hardwood.solvers.relabel import relabel
from hardwood.solvers.result import EndReason, Result, Status
from hardwood.solvers.solve import solve
from hardwood.tree.tree import Tree

if TYPE_CHECKING:
    from hardwood.ensembles.chunked import learn_in_chunks
    from hardwood.ensembles.conversion import as_ensemble
    from hardwood.ensembles.verification import Robustness, robustness
    from hardwood.estimators.boosting import RobustBoostingClassifier
    from hardwood.estimators.cross_validation import RobustTreeCV, make_adversarial_scorer
    from hardwood.estimators.forest import RobustForestClassifier
    from hardwood.estimators.relabeler import RobustRelabeler
    from hardwood.estimators.treant import TreantClassifier
    from hardwood.estimators.trees import GreedyRobustTreeClassifier, RobustTreeClassifier

__all__ = [
    "AttackCosts",
    "AttackModel",
    "AttackRules",
    "EndReason",
    "GreedyRobustTreeClassifier",
    "HardwoodError",
    "InvalidInputError",
    "MissingEngineError",
    "Model",
    "OneHotWarning",
    "Problem",
    "Result",
    "RobustBoostingClassifier",
    "RobustForestClassifier",
    "RobustRelabeler",
    "RobustTreeCV",
    "RobustTreeClassifier",
    "Robustness",
    "SolverError",
    "Status",
    "TreantClassifier",
    "Tree",
    "WholeNumbersWarning",
    "__version__",
    "accuracy",
    "adversarial_accuracy",
    "adversarial_accuracy_bound",
    "as_ensemble",
    "attack_cost",
    "attack_samples",
    "choose_epsilons",
    "epsilon_curve",
    "learn_in_chunks",
    "load_model",
    "make_adversarial_scorer",
    "relabel",
    "robust_feature_report",
    "robust_radius",
    "robustness",
    "solve",
]

# Loaded on first use: they need scikit-learn, which takes a second that the child processes of solvers should not pay.
_LAZY = {
    "GreedyRobustTreeClassifier": "hardwood.estimators.trees",
    "RobustBoostingClassifier": "hardwood.estimators.boosting",
    "RobustForestClassifier": "hardwood.estimators.forest",
    "RobustRelabeler": "hardwood.estimators.relabeler",
    "RobustTreeCV": "hardwood.estimators.cross_validation",
    "RobustTreeClassifier": "hardwood.estimators.trees",
    "Robustness": "hardwood.ensembles.verification",
    "TreantClassifier": "hardwood.estimators.treant",
    "as_ensemble": "hardwood.ensembles.conversion",
    "learn_in_chunks": "hardwood.ensembles.chunked",
    "robustness": "hardwood.ensembles.verification",
    "make_adversarial_scorer": "hardwood.estimators.cross_validation",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'hardwood' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
