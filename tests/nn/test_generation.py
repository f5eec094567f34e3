"""Generation against the public implementation: greedy, filters, beams, padding, stop tokens; streaming and caches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from glyptic import nn
from glyptic.errors import InputError, ModelError
from glyptic.nn.generation.sampling import filtered
from tests.nn import oracles


def pair(name: str, folder: Path, **more: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    theirs = oracles.scramble(oracles.FAMILIES[name](**more), seed=3)
    theirs.save_pretrained(folder)
    return theirs, nn.load(folder)


PROMPTS = [[5, 9, 3], [7, 8, 11, 4, 21, 6], [13]]


@pytest.mark.parametrize("name", oracles.DECODERS)
def test_greedy_batch_with_padding(name: str, tmp_path: Path) -> None:
    theirs, ours = pair(name, tmp_path)
    tokens, mask = nn.pad_left(PROMPTS)
    expected = theirs.generate(
        tokens, attention_mask=mask.long(), max_new_tokens=12, do_sample=False, eos_token_id=None, pad_token_id=0
    )
    assert torch.equal(nn.generate(ours, PROMPTS, max_new_tokens=12), expected)


@pytest.mark.parametrize("name", oracles.DECODERS)
def test_stop_tokens_end_rows_and_then_the_batch(name: str, tmp_path: Path) -> None:
    theirs, ours = pair(name, tmp_path)
    tokens, mask = nn.pad_left(PROMPTS)
    free = nn.generate(ours, PROMPTS, max_new_tokens=12)
    stops = sorted({int(free[0, 8]), int(free[1, 10]), int(free[2, 9])})
    expected = theirs.generate(
        tokens, attention_mask=mask.long(), max_new_tokens=12, do_sample=False, eos_token_id=stops, pad_token_id=0
    )
    ours_stopped = nn.generate(ours, PROMPTS, max_new_tokens=12, stop_tokens=stops)
    assert torch.equal(ours_stopped, expected)
    assert ours_stopped.shape[1] < free.shape[1]


@pytest.mark.parametrize("name", ["t5", "marian"])
def test_greedy_translation_of_a_padded_source(name: str, tmp_path: Path) -> None:
    theirs, ours = pair(name, tmp_path, **({"num_decoder_layers": 2} if name == "t5" else {}))
    tokens, mask = (t.flip(1) for t in nn.pad_left(PROMPTS))
    start = theirs.config.decoder_start_token_id
    expected = theirs.generate(
        tokens, attention_mask=mask.long(), max_new_tokens=9, do_sample=False, num_beams=1, eos_token_id=None
    )
    found = nn.generate(ours, [[start]] * 3, max_new_tokens=9, source=tokens, source_mask=mask)
    assert torch.equal(found, expected)
    with pytest.raises(InputError, match="generates from source="):
        nn.generate(ours, [[start]], max_new_tokens=1)


@pytest.mark.parametrize("penalty", [0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("beams", [1, 2, 4])
@pytest.mark.parametrize("name", [*oracles.DECODERS, "t5", "marian"])
def test_beam_search(name: str, beams: int, penalty: float, tmp_path: Path) -> None:
    # transformers' own generate fails for a T5 whose decoder is deeper than its encoder
    theirs, ours = pair(name, tmp_path, **({"num_decoder_layers": 2} if name == "t5" else {}))
    seq2seq = name in ("t5", "marian")
    start = theirs.config.decoder_start_token_id if seq2seq else None
    tokens, mask = nn.pad_left(PROMPTS)
    if seq2seq:  # a source is padded on the right: transformers counts positions from the first slot
        tokens, mask = tokens.flip(1), mask.flip(1)
    more = {"source": tokens, "source_mask": mask} if seq2seq else {}
    prompt = [[start]] * 3 if seq2seq else PROMPTS
    free = nn.beam_search(ours, prompt, beams=2, max_new_tokens=9, **more)
    stop = free[1][0].tokens[3]  # a token that certainly occurs
    result = theirs.generate(
        tokens,
        attention_mask=mask.long(),
        max_new_tokens=9,
        num_beams=beams,
        num_return_sequences=beams,
        do_sample=False,
        early_stopping=False,
        length_penalty=penalty,
        eos_token_id=stop,
        pad_token_id=0,
        return_dict_in_generate=True,
        output_scores=True,
    )
    found = nn.beam_search(
        ours, prompt, beams=beams, max_new_tokens=9, length_penalty=penalty, stop_tokens=[stop], **more
    )
    length = 1 if seq2seq else tokens.shape[1]
    flat = [hypothesis for row in found for hypothesis in row]
    for row, (sequence, hypothesis) in enumerate(zip(result.sequences, flat, strict=True)):
        new = sequence[length : length + len(hypothesis.tokens)].tolist()
        assert new == list(hypothesis.tokens), row
        if beams > 1:
            assert abs(result.sequences_scores[row].item() - hypothesis.score) <= 1e-5


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)], ids=["f32", "f64"])
@pytest.mark.parametrize("name", [*oracles.DECODERS, "t5", "marian"])
@torch.no_grad()
def test_beam_scores_equal_public_log_probabilities(
    name: str, dtype: torch.dtype, tolerance: float, tmp_path: Path
) -> None:
    """Each hypothesis, scored anew by one forward pass of the public model over prompt and continuation."""
    theirs, ours = pair(name, tmp_path)
    theirs, ours = theirs.to(dtype), ours.to(dtype)
    seq2seq = name in ("t5", "marian")
    prompt = torch.tensor([[theirs.config.decoder_start_token_id]] if seq2seq else [[7, 8, 11]])
    source = torch.tensor([[5, 9, 3, 4]])
    more = {"source": source} if seq2seq else {}
    with oracles.no_downcast(dtype):
        (found,) = nn.beam_search(
            ours, prompt, beams=4, max_new_tokens=7, length_penalty=0.7, stop_tokens=[3, 20], **more
        )
        assert len(found) == 4
        for hypothesis in found:
            tokens = torch.cat([prompt, torch.tensor([hypothesis.tokens])], dim=1)
            out = theirs(input_ids=source, decoder_input_ids=tokens) if seq2seq else theirs(tokens)
            log_p = out.logits[0, prompt.shape[1] - 1 : -1].log_softmax(-1)
            total = log_p.gather(1, torch.tensor(hypothesis.tokens)[:, None]).sum().item()
            assert abs(total / len(hypothesis.tokens) ** 0.7 - hypothesis.score) <= tolerance


def test_more_beams_than_tokens_give_no_impossible_text() -> None:
    model = small(vocabulary=3)
    (found,) = nn.beam_search(model, [[1]], beams=8, max_new_tokens=2)
    assert len(found) == 8
    assert len({h.tokens for h in found}) == 8
    assert min(h.score for h in found) > -1e3
    (short,) = nn.beam_search(model, [[1]], beams=8, max_new_tokens=1)
    assert sorted(h.tokens for h in short) == [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    ("sampling", "warpers"),
    [
        (nn.Sampling(0.7, top_k=5), [transformers.TopKLogitsWarper(5)]),
        (nn.Sampling(0.7, top_p=0.8), [transformers.TopPLogitsWarper(0.8)]),
        (nn.Sampling(0.7, min_p=0.2), [transformers.MinPLogitsWarper(0.2)]),
        (
            nn.Sampling(0.7, top_k=9, top_p=0.9, min_p=0.05),
            [transformers.TopKLogitsWarper(9), transformers.TopPLogitsWarper(0.9), transformers.MinPLogitsWarper(0.05)],
        ),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_filters_equal_the_public_warpers(sampling: nn.Sampling, warpers: list[Any], dtype: torch.dtype) -> None:
    """The public `generate` takes logits to float32 before it filters, and so do we."""
    logits = (3 * torch.randn(500, 41, generator=torch.Generator().manual_seed(0))).to(dtype)
    expected = transformers.TemperatureLogitsWarper(0.7)(None, logits.float())
    for warper in warpers:
        expected = warper(None, expected)
    assert torch.equal(filtered(logits, sampling), expected)


def small(**more: Any) -> Any:
    fields: dict[str, Any] = {"layers": 2, "width": 16, "heads": 4, "vocabulary": 13, "context": 32}
    model = nn.build(nn.ModelConfig(**{"kind": "decoder", **fields, **more}), seed=0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(
                0.4 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel()))
            )
    return model.eval()


def test_sampling_is_decided_by_the_seed_and_follows_the_distribution() -> None:
    model, hot = small(), nn.Sampling(temperature=1.0)
    prompt = torch.tensor([[1, 2]]).expand(4000, -1)
    first = nn.generate(model, prompt, max_new_tokens=1, sampling=hot, seed=5)
    assert torch.equal(first, nn.generate(model, prompt, max_new_tokens=1, sampling=hot, seed=5))
    assert not torch.equal(first, nn.generate(model, prompt, max_new_tokens=1, sampling=hot, seed=6))
    shares = torch.bincount(first[:, -1], minlength=13) / 4000
    with torch.no_grad():
        expected = model(prompt[:1])[0, -1].softmax(-1)
    assert (shares - expected).abs().max() < 0.03


def test_a_stream_gives_the_tokens_of_generate_one_by_one() -> None:
    model = small()
    streamed = list(nn.stream(model, [[1, 2, 3]], max_new_tokens=6))
    assert len(streamed) == 6
    assert torch.equal(torch.stack(streamed, 1), nn.generate(model, [[1, 2, 3]], max_new_tokens=6)[:, 3:])


def test_a_stream_computes_a_token_only_when_it_is_asked_for() -> None:
    model, passes = small(), []
    model.stack.register_forward_hook(lambda *_: passes.append(1))
    stream = nn.stream(model, [[1, 2, 3]], max_new_tokens=6)
    assert len(passes) == 0
    for count in (1, 2, 3):
        next(stream)
        assert len(passes) == count


@pytest.mark.parametrize("prompts", [[[1, 2, 3]], [[1, 2, 3], [4]]], ids=["whole", "padded"])
def test_a_ring_generates_what_a_static_cache_does(prompts: list[list[int]]) -> None:
    model = small(sliding_window=4, positions="rotary")
    ring = nn.generate(model, prompts, max_new_tokens=20, cache="ring")
    assert torch.equal(ring, nn.generate(model, prompts, max_new_tokens=20))


def test_generation_equals_repeated_parallel_passes() -> None:
    model = small()
    tokens = torch.tensor([[3, 1, 4]])
    with torch.no_grad():
        for _ in range(10):
            tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(nn.generate(model, [[3, 1, 4]], max_new_tokens=10), tokens)


def test_a_session_goes_back_and_continues_otherwise() -> None:
    session = nn.Session(small(), 1, 16)
    with torch.no_grad():
        session.feed(torch.tensor([[1, 2, 3]]))
        first = session.feed(torch.tensor([[4]]))
        session.cache.rewind(3)
        other = session.feed(torch.tensor([[5]]))
        session.cache.rewind(3)
        assert torch.equal(session.feed(torch.tensor([[4]])), first)
    assert not torch.equal(first, other)


@torch.no_grad()
def test_a_cache_taken_back_to_the_start_forgets_source_and_padding() -> None:
    model = small(kind="encoder_decoder")
    cache, target = model.new_cache(2, 8), torch.tensor([[1, 2], [3, 4]])
    for source in (torch.tensor([[5, 6, 7]] * 2), torch.tensor([[8, 9, 1]] * 2)):
        memory = model.encode(source)
        mask = torch.tensor([[False, True], [True, True]]) if cache.length == 0 and source[0, 0] == 5 else None
        expected = model.hidden(target, memory=memory, padding_mask=mask)
        assert torch.allclose(model.hidden(target, memory=memory, padding_mask=mask, cache=cache), expected, atol=1e-6)
        cache.rewind(0)


@torch.no_grad()
def test_a_cache_taken_back_into_the_text_forgets_its_padding_there() -> None:
    model = small()
    cache, tokens = model.new_cache(2, 8), torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    model(tokens, padding_mask=torch.tensor([[True] * 4, [True, True, False, False]]), cache=cache)
    cache.rewind(2)
    assert torch.allclose(model(tokens[:, 2:], cache=cache), model(tokens)[:, 2:], atol=1e-6)


@pytest.mark.parametrize("kind", ["static", "fixed", "ring"])
@torch.no_grad()
def test_every_cache_goes_back_to_the_start_and_takes_another_source(kind: str) -> None:
    model = small(kind="encoder_decoder", sliding_window=3)
    cache, target = model.new_cache(2, None if kind == "ring" else 8, kind), torch.tensor([[1, 2], [3, 4]])
    for source in ([[5, 6, 7]] * 2, [[8, 9, 1]] * 2):
        memory = model.encode(torch.tensor(source))
        expected = model.hidden(target, memory=memory)
        assert torch.allclose(model.hidden(target, memory=memory, cache=cache), expected, atol=1e-6)
        cache.rewind(0)
    for length in (-1, 9):
        with pytest.raises((InputError, ModelError), match=f"length={length}"):
            cache.rewind(length)


@pytest.mark.parametrize("kind", ["static", "fixed", "ring"])
@torch.no_grad()
def test_a_refused_step_leaves_a_cache_as_it_was(kind: str) -> None:
    model, tokens = small(sliding_window=3), torch.tensor([[1, 2, 3, 4, 5]])
    cache = model.new_cache(1, None if kind == "ring" else 8, kind)
    model(tokens[:, :4], cache=cache)
    with pytest.raises(InputError):  # more than the table of positions, or than the cache
        model(tokens.expand(1, 5).repeat(1, 7), cache=cache)
    assert torch.allclose(model(tokens[:, 4:], cache=cache), model(tokens)[:, 4:], atol=1e-6)


@pytest.mark.parametrize("kind", ["static", "fixed", "ring"])
def test_a_session_is_reset_and_used_again(kind: str) -> None:
    model = small(sliding_window=4)
    session = nn.Session(model, 1, None if kind == "ring" else 16, cache=kind)
    first = nn.generate(model, [[1, 2, 3]], max_new_tokens=9, session=session)
    session.reset()
    assert torch.equal(nn.generate(model, [[1, 2, 3]], max_new_tokens=9, session=session), first)
    session.reset()
    other = nn.generate(model, [[7, 7]], max_new_tokens=9, session=session)
    assert torch.equal(other, nn.generate(model, [[7, 7]], max_new_tokens=9))


def test_mistakes_are_named() -> None:
    model = small()
    with pytest.raises(InputError, match=r"at the end of a row.* pad on the left"):
        nn.generate(
            model, torch.ones(1, 2, dtype=torch.long), max_new_tokens=1, padding_mask=torch.tensor([[True, False]])
        )
    with pytest.raises(InputError, match="pad on the left"):
        nn.Session(model, 1, 4).feed(torch.ones(1, 2, dtype=torch.long), torch.tensor([[True, False]]))
    with pytest.raises(InputError, match="at least one token"):
        nn.generate(model, [[1], []], max_new_tokens=1)
    with pytest.raises(InputError, match=r"top_p is 1\.5, and must be a number above 0 and at most 1"):
        nn.Sampling(1.0, top_p=1.5)
    for more in ({"head": "none"}, {"head": "class", "classes": 3}):
        with pytest.raises(ModelError, match=f"head='{more['head']}' gives no logits over tokens"):
            nn.generate(small(**more), [[1]], max_new_tokens=1)
    with pytest.raises(ModelError, match=r"model\.eval\(\)"):
        nn.generate(small().train(), [[1]], max_new_tokens=1)
    with pytest.raises(InputError, match="context=32"):
        nn.generate(model, [[1]], max_new_tokens=40)
    with pytest.raises(ModelError, match="sliding_window=None"):
        nn.generate(model, [[1]], max_new_tokens=4, cache="ring")
    with pytest.raises(InputError, match="capacity=4"):
        nn.generate(model, [[1]], max_new_tokens=9, session=nn.Session(model, 1, 4))
    with pytest.raises(InputError, match="capacity=4"):
        nn.generate(model, [[1]], max_new_tokens=9, session=nn.Session(model, 1, 4, cache="fixed"))
