"""Everything that touches a file: descriptors, hints, readers, writers, spills, the page cache.

The rest of pysort makes no read or write of its own.
"""
