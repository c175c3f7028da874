"""Benchmarks of pysort, run from a clone: `python -m bench peers` and `python -m bench startup`.

`python -m bench peers --out bench/results`, the same with `--orderings`, and `python -m bench readme` renew the numbers
in README.md.

Not part of the installed package. The standard library is all it needs.
"""
