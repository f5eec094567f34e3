"""A verdict written out so that it can be checked without Glyptic."""
