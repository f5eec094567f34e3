"""Linear attention is softmax attention with the softmax removed, and its prediction reads (d+1)² numbers."""

import numpy as np
import pytest
from tests.icl.theory import random_blocks

from glyptic.icl.theory.lsa import Blocks, linear_attention, predict, prompt
from glyptic.icl.theory.problem import ProblemError


def attention(E, W_K, W_Q, W_V, W_P, normalise):
    """The notes' one-head layer, E + W_P W_V E · normalise((W_K E)ᵀ W_Q E)."""
    return E + W_P @ W_V @ E @ normalise((W_K @ E).T @ W_Q @ E)


def test_it_is_softmax_attention_without_the_softmax():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    d, n = 3, 7
    E = prompt(rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal(d))
    W_K, W_Q, W_V, W_P = rng.standard_normal((4, d + 1, d + 1))

    def softmax(scores):
        return np.exp(scores) / np.exp(scores).sum(axis=0)

    # With the softmax the layer is PyTorch's attention …
    q, k, v = (torch.tensor((W @ E).T[None]) for W in (W_Q, W_K, W_V))
    theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1.0)[0].numpy().T
    np.testing.assert_allclose(attention(E, W_K, W_Q, W_V, W_P, softmax), E + W_P @ theirs, rtol=1e-12)
    # … and with the softmax replaced by a division by n it is ours, with W^KQ = W_Kᵀ W_Q and W^PV = W_P W_V.
    ours = linear_attention(E, W_P @ W_V, W_K.T @ W_Q)
    np.testing.assert_allclose(ours, attention(E, W_K, W_Q, W_V, W_P, lambda scores: scores / n), rtol=1e-12)


def test_two_softmax_heads_of_opposite_sign_tend_to_it():
    """softmax(εs) − softmax(−εs) = 2ε(s − mean s)/n + O(ε³): linear attention with centred scores."""
    rng = np.random.default_rng(1)
    scores, small = rng.standard_normal((6, 4)), 1e-3

    def softmax(s):
        return np.exp(s) / np.exp(s).sum(axis=0)

    difference = (softmax(small * scores) - softmax(-small * scores)) / (2 * small)
    np.testing.assert_allclose(difference, (scores - scores.mean(axis=0)) / 6, atol=1e-5)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_prediction_reads_the_blocks_only(d):
    rng = np.random.default_rng(d)
    blocks = random_blocks(rng, d)
    x, y, x_query = rng.standard_normal((4, 9, d)), rng.standard_normal((4, 9)), rng.standard_normal((4, d))
    W_pv, W_kq = blocks.matrices()
    W_pv[:d] = rng.standard_normal((d, d + 1))  # what the prediction does not read may be anything
    W_kq[:, d] = rng.standard_normal(d + 1)
    long = linear_attention(prompt(x, y, x_query), W_pv, W_kq)[..., -1, -1]
    np.testing.assert_allclose(predict(blocks, x, y, x_query), long, rtol=1e-11, atol=1e-12)


def test_vector_and_back():
    blocks = random_blocks(np.random.default_rng(0), 3)
    again = Blocks.from_vector(blocks.vector())
    assert np.array_equal(again.vector(), blocks.vector())
    assert again.p2 == blocks.p2
    with pytest.raises(ProblemError, match="not the"):
        Blocks.from_vector(np.zeros(7))
