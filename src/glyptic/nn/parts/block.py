"""One layer: attention between tokens, then a feed-forward on each token, each added to the residual.

    pre-norm    x ← x + attention(norm(x));   x ← x + feed_forward(norm(x))        theory lecture, GPT-2, LLaMA, T5, ViT
    post-norm   x ← norm(x + attention(x));   x ← norm(x + feed_forward(x))        deep-learning class, Vaswani, BERT, Marian
    parallel    x ← x + attention(norm₁(x)) + feed_forward(norm₂(x))               GPT-NeoX

A decoder's layer with a memory has cross-attention between the two, with a norm of its own in the same place.

hook_resid_mid and hook_resid_post are the sums. In a post-norm layer what goes on is their norm, and what leaves the layer
has a name of its own, hook_normalized_resid_post.
"""

from __future__ import annotations

from torch import Tensor, nn

from glyptic.nn.config import ModelConfig
from glyptic.nn.parts.cache import Cache
from glyptic.nn.parts.feed_forward import FeedForward
from glyptic.nn.parts.hook_point import HookPoint
from glyptic.nn.parts.multi_head import Context, CrossAttention, Memory, SelfAttention, drop
from glyptic.nn.parts.norms import make_norm


class Block(nn.Module):
    """[B, T, D] → [B, T, D]. The names of hooks are TransformerLens's."""

    def __init__(self, config: ModelConfig, layer: int, causal: bool, cross: bool) -> None:
        super().__init__()
        self.post, self.parallel, self.dropout = config.norm_place == "post", config.parallel, config.dropout
        self.ln1 = make_norm(config, causal)
        self.attn = SelfAttention(config, layer)
        self.ln_cross = make_norm(config, causal) if cross else None
        self.cross_attn = CrossAttention(config, layer) if cross else None
        self.ln2 = make_norm(config, causal)
        self.mlp = FeedForward(config)
        self.hook_resid_pre, self.hook_resid_post = HookPoint(), HookPoint()
        self.hook_attn_out, self.hook_mlp_out = HookPoint(), HookPoint()
        if not config.parallel:
            self.hook_resid_mid = HookPoint()
        if self.post:
            self.hook_normalized_resid_post = HookPoint()
        if cross:
            self.hook_cross_attn_out, self.hook_resid_mid_cross = HookPoint(), HookPoint()

    def forward(self, x: Tensor, context: Context, cache: Cache | None = None, memory: Memory | None = None) -> Tensor:
        x = self.hook_resid_pre(x)
        if self.post:
            return self._post_norm(x, context, cache, memory)
        if not self.parallel:
            return self._pre_norm(x, context, cache, memory)
        attended = self.hook_attn_out(self._drop(self.attn(self.ln1(x), context, cache)))
        return self.hook_resid_post(x + attended + self.hook_mlp_out(self._drop(self.mlp(self.ln2(x)))))

    def _pre_norm(self, x: Tensor, context: Context, cache: Cache | None, memory: Memory | None) -> Tensor:
        x = self.hook_resid_mid(x + self.hook_attn_out(self._drop(self.attn(self.ln1(x), context, cache))))
        if self.cross_attn is not None and self.ln_cross is not None and memory is not None:
            attended = self.hook_cross_attn_out(self._drop(self.cross_attn(self.ln_cross(x), memory, cache)))
            x = self.hook_resid_mid_cross(x + attended)
        return self.hook_resid_post(x + self.hook_mlp_out(self._drop(self.mlp(self.ln2(x)))))

    def _post_norm(self, x: Tensor, context: Context, cache: Cache | None, memory: Memory | None) -> Tensor:
        x = self.ln1(self.hook_resid_mid(x + self.hook_attn_out(self._drop(self.attn(x, context, cache)))))
        if self.cross_attn is not None and self.ln_cross is not None and memory is not None:
            attended = self.hook_cross_attn_out(self._drop(self.cross_attn(x, memory, cache)))
            x = self.ln_cross(self.hook_resid_mid_cross(x + attended))
        x = self.ln2(self.hook_resid_post(x + self.hook_mlp_out(self._drop(self.mlp(x)))))
        return self.hook_normalized_resid_post(x)

    def _drop(self, x: Tensor) -> Tensor:
        return drop(x, self.dropout, self.training)
