"""Benchmarks of pysort, run from a clone: `python -m bench peers`, `hints` and `startup`.

`python -m bench peers --out bench/results`, the same with `--orderings`, `python -m bench hints --out bench/results`
and `python -m bench readme` renew the numbers in README.md.

Not part of the installed package. The standard library is all it needs, save for the plots (matplotlib).
"""
