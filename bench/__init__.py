"""Benchmarks of pysort, run from a clone: `python -m bench peers`, `scale`, `hints` and `startup`.

These renew the numbers in README.md: `python -m bench peers --out bench/results`, the same with `--orderings`, `scale`
and `hints` with `--out bench/results`, then `python -m bench readme`.

Not part of the installed package. The standard library is all it needs, save for the plots (matplotlib) and for those
of pysort's rivals that are Python packages.
"""
