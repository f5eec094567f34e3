"""Deciding a claim by running it: every input of a vocabulary up to a length, or every value of a format.

`portions` cuts the work into pieces that can be done anywhere; `journal` keeps what is done; `deciding` puts them together.
"""
