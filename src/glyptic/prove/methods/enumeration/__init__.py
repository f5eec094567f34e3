"""Deciding a claim by running it: every input of a vocabulary up to a length, or every value of a format.

`trie` and `crowns` walk the tree of inputs so that shared prefixes are computed once; `units` cuts the work into pieces that can
be done anywhere; `journal` keeps what is done; `settings` says what a claim's names stand for; `deciding` puts them together.
"""
