"""Random problems against a brute force, for as long as wanted: ``make fuzz MINUTES=5``.

`cases` draws a problem from a seed, `brute_force` knows its true answer, `checks` asks the package, `__main__` goes on
and saves what failed. `cases` and `brute_force` import nothing of the package.
"""
