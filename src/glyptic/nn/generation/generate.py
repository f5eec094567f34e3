"""Generation: feed the prompt once, then one token at a time through the cache.

    for tokens in nn.stream(model, prompt, 20): ...      # a [B] tensor each step
    nn.generate(model, prompt, 20)                       # [B, T + 20]
    nn.beam_search(model, prompt, 20, beams=4)           # beam.py

Rows of a batch may differ in length: give lists, or pad on the left and give `padding_mask`. A row that has said a
stop token is filled with `pad_token`; when all have, generation ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Annotated, Any

import torch
from torch import Tensor

from glyptic.arguments import Count, Seed, checked, refused
from glyptic.errors import InputError, ModelError
from glyptic.nn.generation.sampling import Sampling, chosen
from glyptic.nn.generation.session import Session, check_ends
from glyptic.nn.models import Decoder, EncoderDecoder, Model
from glyptic.nn.speed import linear

Prompt = Tensor | Sequence[Sequence[int]] | Sequence[int]
TOKEN = Count(0, 2**63 - 1)


def pad_left(prompts: Sequence[Sequence[int]], pad_token: int = 0) -> tuple[Tensor, Tensor]:
    """Lists of ids → tokens [B, T] and padding_mask [B, T].

    >>> tokens, mask = pad_left([[1, 2, 3], [4]])
    >>> tokens.tolist(), mask.tolist()
    ([[1, 2, 3], [0, 0, 4]], [[True, True, True], [False, False, True]])
    """
    rows = [_row(row, prompt) for row, prompt in enumerate(prompts)] if _is_list(prompts) else []
    if not rows:
        raise refused("prompt", prompts, "lists of tokens, at least one")
    longest = max(len(row) for row in rows)
    tokens = torch.full((len(rows), longest), TOKEN("pad_token", pad_token))
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for row, prompt in enumerate(rows):
        tokens[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask[row, longest - len(prompt) :] = True
    return tokens, mask


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _row(row: int, prompt: Any) -> list[int]:
    if isinstance(prompt, Tensor) and prompt.dim() == 1:
        prompt = prompt.tolist()
    if not _is_list(prompt):
        raise refused(f"prompt[{row}]", prompt, "a list of tokens")
    if not len(prompt):
        raise InputError("every prompt needs at least one token; begin an empty one with a start token.")
    return [TOKEN(f"prompt[{row}][{place}]", token) for place, token in enumerate(prompt)]


def as_batch(prompt: Prompt, padding_mask: Tensor | None, pad_token: int) -> tuple[Tensor, Tensor | None]:
    """Any prompt → tokens [B, T] and a mask, or None if nothing is padded; one text alone is a batch of one."""
    if not isinstance(prompt, Tensor):
        if padding_mask is not None:
            raise InputError("lists are padded here, so padding_mask goes with a tensor only; leave it out.")
        alone = _is_list(prompt) and len(prompt) > 0 and isinstance(prompt[0], Integral)
        prompt, padding_mask = pad_left([prompt] if alone else prompt, pad_token)  # type: ignore[list-item, arg-type]
    elif prompt.dim() == 1 and padding_mask is None:
        prompt = prompt[None]
    if prompt.dim() != 2 or 0 in prompt.shape or prompt.is_floating_point() or prompt.is_complex():
        raise InputError(
            f"the prompt has shape {tuple(prompt.shape)} and dtype {prompt.dtype}; "
            "it must be integers [B, T] with at least one token."
        )
    check_ends(padding_mask)
    if padding_mask is not None and bool(padding_mask.all()):
        padding_mask = None
    return prompt, padding_mask


def checked_stops(stop_tokens: Any, vocabulary: int) -> tuple[int, ...]:
    """The tokens that end a text; one that is never said would never end it."""
    if not _is_list(stop_tokens):
        raise refused("stop_tokens", stop_tokens, "a list of tokens")
    return tuple(Count(0, vocabulary - 1)(f"stop_tokens[{place}]", token) for place, token in enumerate(stop_tokens))


def checked_logits(logits: Tensor) -> Tensor:
    """Logits to choose from; those of a model with weights that are not numbers say nothing."""
    if bool(logits.isnan().any()):
        raise ModelError("the model's logits are not numbers (NaN); look for NaN or overflow in its weights.")
    return logits


def _started(model: Any, tokens: Tensor, most: int, cache: str, session: Session | None, inputs: dict[str, Any]) -> Session:
    """The session that will be fed: the one that was given, which has all it needs, or a new one."""
    if session is None:
        batch, length = tokens.shape
        capacity = None if cache == "ring" else length + max(most, 1)
        packed = isinstance(model, Model) and linear.packing_pays(model, batch, most)
        return Session(model, batch, capacity, cache=cache, packed=packed, **inputs)
    if not isinstance(session, Session):
        raise refused("session", session, "a Session")
    if session.of is not model:
        raise InputError("session is of another model; give the model that it was made with.")
    if cache != "static" or any(value is not None for value in inputs.values()):
        raise InputError("session has a cache and a source of its own; leave out cache, source and source_mask.")
    return session


@torch.inference_mode()
def _steps(
    session: Session,
    tokens: Tensor,
    mask: Tensor | None,
    most: int,
    sampling: Sampling,
    stops: tuple[int, ...],
    pad: int,
    seed: int | None,
) -> Iterator[Tensor]:
    generator = None if seed is None else torch.Generator(tokens.device).manual_seed(seed)
    ends = torch.tensor(stops, device=tokens.device)
    stopped = torch.zeros(tokens.shape[0], dtype=torch.bool, device=tokens.device)
    for step in range(most):
        logits = session.feed(tokens, mask if step == 0 else None)
        new = chosen(checked_logits(logits) if step == 0 else logits, sampling, generator)
        if stops:
            new = new.masked_fill(stopped, pad)
            stopped = stopped | torch.isin(new, ends)
        yield new
        if stops and bool(stopped.all()):
            return
        tokens = new[:, None]


@checked
def stream(
    model: Decoder | EncoderDecoder,
    prompt: Prompt,  # a tensor [B, T] or [T], or lists of tokens
    max_new_tokens: Annotated[int, Count(0, 2**31 - 1)],
    *,
    sampling: Sampling = Sampling(),  # noqa: B008 (frozen)
    stop_tokens: Sequence[int] = (),
    pad_token: int = 0,
    padding_mask: Tensor | None = None,
    seed: Seed | None = None,
    source: Tensor | None = None,
    source_mask: Tensor | None = None,
    cache: str = "static",
    session: Session | None = None,
) -> Iterator[Tensor]:
    """Yields the new token of each row, [B], one step at a time; `session` is taken over if given."""
    vocabulary = model.config.vocabulary or 1
    pad_token = Count(0, vocabulary - 1)("pad_token", pad_token)
    tokens, mask = as_batch(prompt, padding_mask, pad_token)
    stops = checked_stops(stop_tokens, vocabulary)
    inputs: dict[str, Any] = {"source": source, "source_mask": source_mask}
    session = _started(model, tokens, max_new_tokens, cache, session, inputs)
    return _steps(session, tokens, mask, max_new_tokens, sampling, stops, pad_token, seed)


def generate(
    model: Decoder | EncoderDecoder,
    prompt: Prompt,
    max_new_tokens: int,
    *,
    sampling: Sampling = Sampling(),  # noqa: B008 (frozen)
    stop_tokens: Sequence[int] = (),
    pad_token: int = 0,
    padding_mask: Tensor | None = None,
    seed: int | None = None,
    source: Tensor | None = None,
    source_mask: Tensor | None = None,
    cache: str = "static",
    session: Session | None = None,
) -> Tensor:
    """Prompt and continuation, [B, T + new]; arguments as of `stream`.

    >>> from glyptic.nn import ModelConfig, build
    >>> config = ModelConfig(kind="decoder", layers=1, width=16, heads=2, vocabulary=10)
    >>> tuple(generate(build(config, kind="decoder", seed=0).eval(), [[1, 2], [3]], 3).shape)
    (2, 5)
    """
    tokens, mask = as_batch(prompt, padding_mask, pad_token)
    how: dict[str, Any] = {"sampling": sampling, "stop_tokens": stop_tokens, "pad_token": pad_token, "seed": seed}
    how |= {"source": source, "source_mask": source_mask, "cache": cache, "session": session}
    new = list(stream(model, tokens, max_new_tokens, padding_mask=mask, **how))
    return torch.cat([tokens, torch.stack(new, dim=1)], dim=1) if new else tokens
