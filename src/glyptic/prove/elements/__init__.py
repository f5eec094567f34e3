"""What a claim ranges over, made concrete, for whatever method runs it.

trie, last_levels   the tree of inputs, each prefix computed once
batches             what the names in a claim stand for, in batches of inputs or values
counting            how many elements there are, and their order
"""
