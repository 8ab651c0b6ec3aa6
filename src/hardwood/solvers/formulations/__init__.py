"""The paper's formulations and the methods that solve them with general solvers."""
