"""Generating: sampling, beams, sessions that keep their cache."""
