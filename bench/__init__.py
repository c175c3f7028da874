"""Benchmarks of pysort, run from a clone: `python -m bench peers` and `python -m bench startup`.

Not part of the installed package. The standard library is all it needs.
"""
