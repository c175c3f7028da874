"""pysort: GNU sort's exact bytes, several times faster, for files bigger than memory."""

__version__ = "0.1.0"
