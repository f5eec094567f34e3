"""Tasks, one file a family; `registry.open` gives one by its name.

languages      formal languages: members of a length at random, and which beginnings are members
deciders       is a word in a language? what exact transformers can decide too
arithmetic     sums, iterated squaring, permutations; with a chain of thought and without
text           the user's own text, in bytes or in pieces
translation    number words and dates, Spanish, English and digits; the user's own pairs
images         scikit-learn's digits, and the user's own folder
tokens         text to numbers and back, and what of it lies beside the weights
held_out       which examples training never sees
"""
