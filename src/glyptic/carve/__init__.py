"""Constructions on transformers: `Transformer -> Transformer`, by the names of coordinates."""
