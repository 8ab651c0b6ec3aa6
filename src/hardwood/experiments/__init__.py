"""Experiments: a grid in a TOML file, cells that run anywhere, one results file, tables and figures."""
