"""Where the printed constructions fail: each search goes from the smallest input, and tries what replaces it as well.

    linear          h_j ← M h_i
    verdicts        0–1 and ∞ normalization: which answers are kept
    coordinates     flags, zeros, ignored coordinates

Positions and coordinates count from 0.
"""
