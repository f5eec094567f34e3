"""Between `nn` and `exact`: a trained decoder into a finite format, and an exact transformer into PyTorch.

    to_exact(model, format)      weights rounded, then every operation: an `exact.Transformer`
    to_nn(transformer)           the same weights in floating point: an `nn.Decoder`
    places(transformer, model)   the stages of the one and the hooks of the other, each by the name of the other's

What has no counterpart on the other side is refused by name, never replaced by something close to it.

    part                       to_exact                                             to_nn
    pre-norm, post-norm        LayerNorm, RMSNorm (ε in or outside), each step      the same, one kind for all
    embedding, final norm      the same                                             the same
    1/√d                       scores divided by [√d_k], or folded into W_Q         1/[√d_k], one for all heads
    activations                relu, gelu, gelu_tanh, silu, correctly rounded       the same, one for all layers
    swiglu, geglu              a gate with silu, gelu_tanh                          the same; other gates refused
    positions on the input     learned, sinusoidal, none                            learned
    positions in attention     tables: angles by position (rotary), additions by    refused: nn has formulas, not tables
                               distance (ALiBi, T5, Shaw, Transformer-XL)
    biases of q, k, v, output  weights of the head; the output's is the last one's  the same
    an output bias             the transformer's; of −∞: no answer                  the same; −∞ for tokens that are no answers
    classes                    answers: NO and YES, or as given                     –
    grouped heads              keys and values repeated                             –
    parallel layers            the same                                             the same, all or none
    heads of any width         –                                                    padded with zeros
    saturation at B            weights beyond B refused                             weights of B refused
    hard attention, strict     –                                                    refused
    encoders, cross-attention, pixels, norms of q and k, other norms, windows: refused with the reason (`refusals.py`)

From exact to nn and back, with the options of the first (`to_exact` cannot see `products`, `attention`, `answer` and `ties`
in a decoder), the logits are the same, code for code, and the weights too where no head had to be padded.
`tests/bridge/test_bridge_at_random.py` tries both ways on random models of every kind that is admitted.
"""

from glyptic.bridge.places import PlaceMap, SamePlace, places
from glyptic.bridge.to_exact import to_exact
from glyptic.bridge.to_nn import ids, to_nn

__all__ = ["PlaceMap", "SamePlace", "ids", "places", "to_exact", "to_nn"]
