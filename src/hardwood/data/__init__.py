"""From a table to numbers: frames, CSV files, categories, labels, and the data sets of the paper."""
