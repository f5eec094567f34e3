"""Generation: feed the prompt once, then one token at a time through the cache.

    for tokens in nn.stream(model, prompt, max_new_tokens=20): ...      # a [B] tensor each step
    nn.generate(model, prompt, max_new_tokens=20)                       # [B, T + 20]
    nn.beam_search(model, prompt, beams=4, max_new_tokens=20)           # beam.py

Rows of a batch may differ in length: give lists, or pad on the left and give `padding_mask`. A row that has said a
stop token is filled with `pad_token`; when all have, generation ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from glyptic.errors import InputError
from glyptic.nn import few_rows
from glyptic.nn.models import Decoder, EncoderDecoder
from glyptic.nn.sampling import Sampling, choose
from glyptic.nn.session import Session

Prompt = Tensor | Sequence[Sequence[int]]


def pad_left(prompts: Sequence[Sequence[int]], pad_token: int = 0) -> tuple[Tensor, Tensor]:
    """Lists of ids → tokens [B, T] and padding_mask [B, T].

    >>> tokens, mask = pad_left([[1, 2, 3], [4]])
    >>> tokens.tolist(), mask.tolist()
    ([[1, 2, 3], [0, 0, 4]], [[True, True, True], [False, False, True]])
    """
    if not prompts or not all(len(p) for p in prompts):
        raise InputError("every prompt needs at least one token; begin an empty one with a start token.")
    longest = max(len(p) for p in prompts)
    tokens = torch.full((len(prompts), longest), pad_token)
    mask = torch.zeros(len(prompts), longest, dtype=torch.bool)
    for row, prompt in enumerate(prompts):
        tokens[row, longest - len(prompt) :] = torch.as_tensor(prompt)
        mask[row, longest - len(prompt) :] = True
    return tokens, mask


def as_batch(prompt: Prompt, padding_mask: Tensor | None, pad_token: int) -> tuple[Tensor, Tensor | None]:
    """Any prompt → tokens [B, T] and a mask, or None if nothing is padded."""
    if not isinstance(prompt, Tensor):
        prompt, padding_mask = pad_left(prompt, pad_token)
    if prompt.dim() != 2 or prompt.shape[1] == 0:
        raise InputError(f"the prompt has shape {tuple(prompt.shape)}; it must be [B, T] with at least one token.")
    if padding_mask is not None and not bool(padding_mask[:, -1].all()):
        raise InputError("padding_mask is False at the end of a row; pad prompts on the left.")
    if padding_mask is not None and bool(padding_mask.all()):
        padding_mask = None
    return prompt, padding_mask


@torch.inference_mode()
def stream(
    model: Decoder | EncoderDecoder,
    prompt: Prompt,
    *,
    max_new_tokens: int,
    sampling: Sampling = Sampling(),  # noqa: B008 (frozen)
    stop_tokens: Sequence[int] = (),
    pad_token: int = 0,
    padding_mask: Tensor | None = None,
    seed: int | None = None,
    source: Tensor | None = None,
    source_mask: Tensor | None = None,
    cache: str = "static",
    session: Session | None = None,
) -> Iterator[Tensor]:
    """Yields the new token of each row, [B], one step at a time; `session` is taken over if given."""
    tokens, padding_mask = as_batch(prompt, padding_mask, pad_token)
    batch, length = tokens.shape
    if session is None:
        capacity = length + max_new_tokens
        packed = few_rows.worthwhile(model, batch, max_new_tokens)
        inputs: dict[str, Any] = {"source": source, "source_mask": source_mask}
        session = Session(model, batch, capacity, cache=cache, packed=packed, **inputs)
    generator = None if seed is None else torch.Generator(tokens.device).manual_seed(seed)
    stops = torch.tensor(list(stop_tokens), device=tokens.device)
    stopped = torch.zeros(batch, dtype=torch.bool, device=tokens.device)
    for step in range(max_new_tokens):
        logits = session.feed(tokens, padding_mask if step == 0 else None)
        chosen = choose(logits, sampling, generator)
        if len(stop_tokens):
            chosen = chosen.masked_fill(stopped, pad_token)
            stopped = stopped | torch.isin(chosen, stops)
        yield chosen
        if len(stop_tokens) and bool(stopped.all()):
            return
        tokens = chosen[:, None]


def generate(model: Decoder | EncoderDecoder, prompt: Prompt, **how: object) -> Tensor:
    """Prompt and continuation, [B, T + new]; arguments as of `stream`.

    >>> from glyptic.nn import ModelConfig, build
    >>> model = build(ModelConfig(kind="decoder", layers=1, width=16, heads=2, vocabulary=10), seed=0).eval()
    >>> tuple(generate(model, [[1, 2], [3]], max_new_tokens=3).shape)
    (2, 5)
    """
    pad_token, mask = how.get("pad_token", 0), how.get("padding_mask")
    tokens, mask = as_batch(prompt, mask, pad_token)  # type: ignore[arg-type]
    new = list(stream(model, tokens, **{**how, "padding_mask": mask}))  # type: ignore[arg-type]
    return torch.cat([tokens, torch.stack(new, dim=1)], dim=1) if new else tokens
