"""Beam search: keep the `beams` most likely beginnings; finished ones compete by a length-normalized score.

    score = log p(continuation) / (its length ^ length_penalty)

A penalty of 0 prefers short texts, 1 compares averages a token, more prefers long texts. A row ends when it has
`beams` finished texts and the best running one would not beat the worst of them, were it to end now.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import torch
from torch import Tensor

from glyptic.arguments import Count, Number, checked
from glyptic.nn.generation.generate import Prompt, as_batch, checked_logits, checked_stops
from glyptic.nn.generation.session import Session
from glyptic.nn.models import Decoder, EncoderDecoder

NOTHING = -math.inf  # log-probability of a place that no text runs in


@dataclass
class _Row:
    """The finished texts of one row of the batch, the best first."""

    beams: int
    finished: list[tuple[float, list[int]]] = field(default_factory=list)
    done: bool = False

    def add(self, score: float, tokens: list[int]) -> None:
        self.finished = sorted([*self.finished, (score, tokens)], key=lambda f: -f[0])[: self.beams]

    def settle(self, best_running: float) -> None:
        full = len(self.finished) == self.beams and best_running <= self.finished[-1][0]
        self.done = self.done or full or best_running == NOTHING


@dataclass(frozen=True)
class Hypothesis:
    """One finished text: the new tokens (stop token included) and their normalized log-probability."""

    tokens: tuple[int, ...]
    score: float


@torch.inference_mode()
@checked
def beam_search(
    model: Decoder | EncoderDecoder,
    prompt: Prompt,  # a tensor [B, T] or [T], or lists of tokens
    max_new_tokens: Annotated[int, Count(1, 2**31 - 1)],
    *,
    beams: Annotated[int, Count(1, 10_000)],
    length_penalty: Annotated[float, Number(least=-20, most=20)] = 1.0,
    stop_tokens: Sequence[int] = (),
    pad_token: int = 0,
    padding_mask: Tensor | None = None,
    source: Tensor | None = None,
    source_mask: Tensor | None = None,
) -> list[list[Hypothesis]]:
    """For each row of the prompt, up to `beams` hypotheses, the best first."""
    vocabulary = model.config.vocabulary or 1
    pad_token = Count(0, vocabulary - 1)("pad_token", pad_token)
    stops = set(checked_stops(stop_tokens, vocabulary))
    tokens, mask = as_batch(prompt, padding_mask, pad_token)
    batch, length = tokens.shape
    session = Session(model, batch, length + max_new_tokens, source=source, source_mask=source_mask)
    logits = checked_logits(session.feed(tokens, mask))
    session.reorder(torch.arange(batch, device=tokens.device).repeat_interleave(beams))
    rows = [_Row(beams) for _ in range(batch)]
    logits = logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits
    scores = torch.full((batch, beams), NOTHING, dtype=logits.dtype, device=tokens.device)
    scores[:, 0] = 0.0  # at first all beams of a row are the same text
    texts: list[list[int]] = [[] for _ in range(batch * beams)]
    logits = logits.repeat_interleave(beams, dim=0)
    for step in range(1, max_new_tokens + 1):
        candidates = _candidates(logits, scores, max(2, 1 + len(stops)) * beams)
        last = step == max_new_tokens
        found, texts, origin = _sort_out(rows, candidates, texts, beams, stops, last, length_penalty, step)
        if last or all(row.done for row in rows):
            break
        scores = torch.tensor(found, dtype=scores.dtype, device=scores.device)
        session.reorder(torch.tensor(origin, device=tokens.device))
        logits = session.feed(torch.tensor([[text[-1]] for text in texts], device=tokens.device))
    return [[Hypothesis(tuple(text), score) for score, text in row.finished] for row in rows]


Candidates = list[list[tuple[float, int, int]]]  # for each row: (log p, beam, token), the best first


def _candidates(logits: Tensor, scores: Tensor, count: int) -> Candidates:
    """The `count` best continuations of each row: enough that `beams` of them do not stop."""
    batch, beams = scores.shape
    total = logits.to(scores.dtype).log_softmax(-1).view(batch, beams, -1) + scores[:, :, None]  # [B, beams, V]
    vocabulary = total.shape[-1]
    best, index = total.flatten(1).topk(min(count, beams * vocabulary), dim=-1)
    return [
        [(p, i // vocabulary, i % vocabulary) for p, i in zip(ps, indices, strict=True) if p > NOTHING]
        for ps, indices in zip(best.tolist(), index.tolist(), strict=True)
    ]


def _sort_out(
    rows: list[_Row],
    candidates: Candidates,
    texts: list[list[int]],
    beams: int,
    stops: set[int],
    last: bool,
    length_penalty: float,
    step: int,
) -> tuple[list[list[float]], list[list[int]], list[int]]:
    """Finished continuations go to their row, the best others run on: their scores, texts and old places."""
    scores: list[list[float]] = []
    new_texts: list[list[int]] = []
    origin: list[int] = []
    for r, (row, found) in enumerate(zip(rows, candidates, strict=True)):
        running: list[tuple[float, list[int], int]] = []
        for rank, (log_p, beam, token) in enumerate(found):
            text = [*texts[r * beams + beam], token]
            ends = last or token in stops
            if ends and rank < beams and not row.done:
                row.add(log_p / step**length_penalty, text)
            if not ends and len(running) < beams:
                running.append((log_p, text, r * beams + beam))
        while len(running) < beams:  # everything stops: nothing worth running on
            running.append((NOTHING, [*texts[r * beams], 0], r * beams))
        row.settle(running[0][0] / step**length_penalty)
        scores.append([log_p for log_p, _, _ in running])
        new_texts += [text for _, text, _ in running]
        origin += [place for _, _, place in running]
    return scores, new_texts, origin
