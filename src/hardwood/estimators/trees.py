"""The scikit-learn face of the solvers."""

from __future__ import annotations

from typing import Any

from hardwood.estimators.base import BaseRobustTree, seed_of
from hardwood.evaluation.methods import find_recipe
from hardwood.problem.problem import Problem
from hardwood.proofs.writer import write_proof
from hardwood.solvers import get_solver, solve
from hardwood.solvers.display import progress_display
from hardwood.solvers.result import Result
from hardwood.solvers.search.cluster import connected
from hardwood.solvers.stopping import Interrupt


class RobustTreeClassifier(BaseRobustTree):
    """Optimal robust decision tree.

    Finds the tree of at most `max_depth` splits per path that loses the least weight of training samples to an
    attacker, and proves it (Vos & Verwer, "Robust Optimal Classification Trees against Adversarial Examples",
    AAAI 2022, with our own exact search as the default solver).

    Parameters
    ----------
    max_depth : int
        Largest number of splits on a path.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes. 0 learns an ordinary optimal tree.
    solver : str
        ``"search"`` (exact, ours) or any other that ``hardwood solvers`` lists, or a method by the name that papers
        use, e.g. ``"GROOT"`` or ``"MILP-warm"``.
    engine : str or None
        Library to run on, for solvers that have a choice.
    start : None, "greedy" or Tree
        Where the solver starts.
    time_limit : float or None
        Seconds; the best tree so far is returned when they are over. None for no limit.
    max_gap : float
        Stop as soon as the relative gap between objective and bound is at most this.
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.
    leaf_penalty : float
        Cost of a leaf, in units of sample weight.
    min_samples_leaf : int
        Each leaf must be reached for certain, it and no other, by so many samples.
    min_weight_fraction_leaf : float
        The same for a share of the weight of all samples, class weights included (as in scikit-learn; at most 0.5). One
        of the two can be set. Solvers other than ``"search"`` and ``"greedy"`` refuse both.
    missing : {"error", "reachable"}
        What to do with missing values (NaN). ``"reachable"``: such a value may be anything, so that in training and
        under attack it reaches both sides of a split; `predict` sends it where more training weight went.
    categorical_features : "from_dtype", sequence of names or indices, or None
        Columns that hold categories. A split on one asks "is it this category?". ``"from_dtype"`` takes the columns of
        a frame whose type is categorical. See `hardwood.data.categories`.
    solver_options : mapping or None
        Further options of the solver.
    n_jobs : int or None
        Threads to use, where the solver can.
    random_state : int, RandomState or None
        Seed; None is the same as 0, so that fits can be repeated.
    verbose : int
        1 shows progress on standard error.
    proof : path or None
        Write a file from which anyone can check, without this program, what was proven; see `hardwood.proofs`. The
        search proves the bound once more for it, after `time_limit`. Samples of weight zero are not part of it.
    checkpoint : path or None
        A file that keeps what is proven, for ``solver="search"``: a fit that was stopped or killed goes on from there
        when it is started again with the same data and parameters. When optimality is proven it becomes a proof.
    client : dask.distributed.Client, address of its scheduler, or None
        Search on the workers of a Dask cluster, for ``solver="search"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = RobustTreeClassifier(max_depth=2, attack=0.2).fit(X, y)
    >>> clf.result_.status
    <Status.OPTIMAL: 'optimal'>
    """

    def __init__(
        self,
        max_depth: int = 3,
        *,
        attack: Any = 0.0,
        solver: str = "search",
        engine: str | None = None,
        start: Any = None,
        time_limit: float | None = 60.0,
        max_gap: float = 0.0,
        class_weight: Any = None,
        leaf_penalty: float = 0.0,
        min_samples_leaf: int = 0,
        min_weight_fraction_leaf: float = 0.0,
        missing: str = "error",
        categorical_features: Any = "from_dtype",
        solver_options: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        proof: Any = None,
        checkpoint: Any = None,
        client: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.attack = attack
        self.solver = solver
        self.engine = engine
        self.start = start
        self.time_limit = time_limit
        self.max_gap = max_gap
        self.class_weight = class_weight
        self.leaf_penalty = leaf_penalty
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.missing = missing
        self.categorical_features = categorical_features
        self.solver_options = solver_options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.proof = proof
        self.checkpoint = checkpoint
        self.client = client

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = str(self.solver).lower() != "treant"
        return tags

    def _problem_parameters(self) -> dict[str, Any]:
        return {
            "max_depth": self.max_depth,
            "class_weight": self.class_weight,
            "leaf_penalty": self.leaf_penalty,
            "min_samples_leaf": self.min_samples_leaf,
            "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
        }

    def _solve(self, problem: Problem, started: float, interrupt: Interrupt | None = None) -> Result:
        recipe = find_recipe(self.solver).changed(self.solver_options, self.engine, self.start)
        with (
            progress_display(bool(self.verbose), self.time_limit) as on_progress,
            connected(self.client) as client,
        ):
            result = solve(
                problem,
                recipe.solver,
                time_limit=self.time_limit,
                start=recipe.start,
                max_gap=self.max_gap,
                random_state=seed_of(self.random_state),
                n_jobs=self.n_jobs,
                options=recipe.options,
                on_progress=on_progress,
                started=started,
                interrupt=interrupt,
                checkpoint=self.checkpoint,
                client=client,
            )
        if self.proof is not None:
            write_proof(problem, result.tree, result.bound, self.proof)
        return result


class GreedyRobustTreeClassifier(BaseRobustTree):
    """Greedy robust decision tree (GROOT, Chen et al. or FPRDT): no proof, but learned in milliseconds.

    Parameters
    ----------
    max_depth : int
        Largest number of splits on a path.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes.
    criterion : {"groot", "chen", "adversarial-error"}
        How a split is scored: by the worst impurity that the attacker can force (GROOT), by the worst of four
        placements (Chen et al.), or by the errors of the whole tree under attack (FPRDT). See
        `hardwood.solvers.greedy`.
    impurity : {"gini", "entropy"}
        What ``criterion="chen"`` measures.
    min_samples_split : int
        A node with fewer samples becomes a leaf.
    min_samples_leaf : int
        A split that leaves fewer samples on one side, as the attacker distributes them, is not made.
    min_weight_fraction_leaf : float
        The same for a share of the weight of all samples, class weights included.
    max_features : None, "sqrt", "log2", int or float
        How many features, drawn at random, each split looks at; more as long as none of them gains anything.
    robust_weight : float
        Share of the movable samples that the attacker really moves.
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.
    missing : {"error", "reachable"}
        What to do with missing values (NaN). ``"reachable"``: such a value may be anything, so that in training and
        under attack it reaches both sides of a split; `predict` sends it where more training weight went.
    categorical_features : "from_dtype", sequence of names or indices, or None
        Columns that hold categories. A split on one asks "is it this category?". ``"from_dtype"`` takes the columns of
        a frame whose type is categorical. See `hardwood.data.categories`.
    random_state : int, RandomState or None
        Seed of the draw of features; None is the same as 0.
    """

    def __init__(
        self,
        max_depth: int = 3,
        *,
        attack: Any = 0.0,
        criterion: str = "groot",
        impurity: str = "gini",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        robust_weight: float = 1.0,
        class_weight: Any = None,
        missing: str = "error",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.attack = attack
        self.criterion = criterion
        self.impurity = impurity
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.robust_weight = robust_weight
        self.class_weight = class_weight
        self.missing = missing
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _problem_parameters(self) -> dict[str, Any]:
        return {"max_depth": self.max_depth, "class_weight": self.class_weight}

    def _solve(self, problem: Problem, started: float) -> Result:
        options = {name: getattr(self, name) for name in get_solver("greedy").defaults}
        return solve(problem, "greedy", options=options, random_state=seed_of(self.random_state), started=started)
