"""What is to be learned: boxes, their ends, and the problem that solvers are given."""
