"""Glyptic: carve transformers, run them in the arithmetic of a proof, prove what they compute, look inside."""

__version__ = "0.1.0"
