"""Trees for other programs: the model file, other libraries, source code."""
