"""The parts of a transformer, each file short enough to be read at once, in this order:

    lecture          attention as the lectures build it, in plain functions of matrices: the whole idea
    attention        the one function that all models use, line by line in `reference`; two faster backends
    masks            who may see whom
    multi_head       project, split into heads, attend, concatenate, project; self- and cross-attention
    positions/       seven ways for a model to learn of order, one file each
    norms            six ways to keep numbers of one size
    feed_forward     the network on each token alone
    block, stack     a layer of these, then many
    embeddings       from tokens or patches into the residual stream, and out of it to logits
    cache            what a decoder keeps of the tokens that it has seen

Beside the way, `hook_point` lets anyone look at a value as it passes. The letters B, T, S, D, H, G, K, F are in `config.py`;
whole models, and their fresh weights, are in `models.py`, one folder up.
"""
