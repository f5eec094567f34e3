"""What the lectures claim, tried: one file a claim, each a set of small trainings, a figure and a verdict.

    chain        a chain of thought lets one layer do what it cannot do at once
    norms        BatchNorm against LayerNorm
    places       norms after the sum (post) against norms before each part (pre)
    positions    kinds of positions beyond the trained length

`glyptic experiment NAME` makes one again.
"""
