"""Sequential composition against running one transformer after the other by hand; loops."""

import numpy as np
import pytest

from glyptic import programs
from glyptic.carve import FactError, compose, loop
from glyptic.errors import InputError, ModelError
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.numbers import NAMED, Fixed, Float, Format
from tests.carve.support import all_texts

FORMATS = [Fixed(2), Fixed(6), Float(2, 2), Float(3, 4).with_ties("even"), NAMED["fp16"]]


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_b_reads_what_a_answers_at_each_position(format: Format, products: str) -> None:
    options, texts, count = Options(products=products, attention="max-subtracted"), all_texts(5), 0  # type: ignore[arg-type]
    for seed in range(4):
        a = random_transformer(format, seed, Sizes(layers=1, width=4, answers=("0", "1")), options)
        b = random_transformer(format, seed + 100, Sizes(layers=2, width=5, max_length=6), options)
        done = compose.sequence(a, b, yes="1")
        said = dict(zip(texts, a.run_batch(texts).answers, strict=True))
        sequences = [[said[text[: i + 1]] for i in range(len(text))] for text in texts]
        decisive = [i for i, sequence in enumerate(sequences) if set(sequence) <= {"0", "1"}]
        want = b.run_batch([sequences[i] for i in decisive])
        got = done.run_batch([texts[i] for i in decisive])
        assert got.answers == want.answers  # ties and 0/0 of b included
        assert (got.logits == want.logits).all()
        count += len(decisive)
        between = 3 + (format == NAMED["fp16"])
        assert (len(done.layers), done.max_length, done.answers) == (1 + between + 2, 6, b.answers)
    assert count > 10


def test_sequence_of_built_in_deciders() -> None:
    """Whether the prefixes of odd parity are in the majority."""
    format = Fixed(6)
    odd = programs.by_name("parity:8", format).replace(answers=("0", "1"))
    most = programs.by_name("majority:8", format)
    done = compose.sequence(odd, most, yes="1")
    texts = all_texts(8)
    prefixes = ["".join(str(text[: i + 1].count("1") % 2) for i in range(len(text))) for text in texts]
    assert done.run_batch(texts).answers == most.run_batch(prefixes).answers
    assert "compose.sequence" in done.frame()


def relay_by_hand(a: Transformer, b: Transformer, text: str, switch: str, steps: int) -> list[str] | None:
    """The chain, step by step; None if a tie or 0/0 comes up."""
    chain = []
    for _ in range(steps):
        answer = (b if text[-1] in switch else a).run_batch([text]).answers[0]
        if len(answer) > 1:
            return None
        chain.append(answer)
        text += answer
    return chain


@pytest.mark.parametrize("attention", ["average", "softmax"])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_a_thinks_until_a_switch_then_b_reads_it_all(format: Format, attention: str) -> None:
    options, steps, count = Options(attention=attention), 4, 0  # type: ignore[arg-type]
    for seed in range(4):
        sizes_a = Sizes(layers=1, width=4, answers=("0", "1", "2"), vocabulary="01234")
        sizes_b = Sizes(layers=2, width=5, max_length=7, vocabulary="43210", answers=("3", "1", "4"))
        a, b = random_transformer(format, seed, sizes_a, options), random_transformer(format, seed + 50, sizes_b, options)
        done = compose.relay(a, b, "12")
        assert done.answers == ("0", "1", "2", "3", "4")
        assert len(done.layers) == 3
        texts = all_texts(3)
        got = done.run_batch(texts, steps=steps)
        for i, text in enumerate(texts):
            chain = relay_by_hand(a, b, text, "12", steps)
            if chain is not None and i not in got.failures:
                count += 1
                assert [done.answers[n] for n in got.chains[i]] == chain
    assert count > 15


def test_two_steps_are_b_of_the_input_and_a_s_answer() -> None:
    format = Fixed(6)
    options = Options(attention="average")
    a = random_transformer(format, 1, Sizes(layers=1, answers=("N", "Y"), vocabulary="01"), options)
    b = random_transformer(format, 2, Sizes(layers=2, answers=("N", "Y"), vocabulary="01NY"), options)
    done = compose.relay(a, b)
    for text, said in zip(all_texts(4), a.run_batch(all_texts(4)).answers, strict=True):
        if said in "NY":
            want = b.run_batch([text + said]).answers[0]
            run = done.run_batch([text], steps=2)
            assert [*run.chains[0]] == [a.answers.index(said), {**dict(zip("NY", (0, 1), strict=True)), "TIE": -1}[want]]


def test_what_cannot_be_composed_is_refused() -> None:
    def T(vocabulary: str, answers: str, format: object = Fixed(4), **options: object) -> Transformer:
        sizes = Sizes(layers=1, vocabulary=vocabulary, answers=tuple(answers))
        return random_transformer(format, 0, sizes, Options(**options))  # type: ignore[arg-type]

    with pytest.raises(ModelError, match="b must read the answers of a, and 'x' is not in its vocabulary"):
        compose.sequence(T("01", "xy"), T("01", "01"), yes="y")
    with pytest.raises(ModelError, match="has 3: 0, 1, 2"):
        compose.sequence(T("01", "012"), T("012", "01"))
    with pytest.raises(ModelError, match="b must read what a reads and writes, and '1'"):
        compose.relay(T("01", "01"), T("0", "01"))
    with pytest.raises(ModelError, match="the switch '7' is not an answer of a"):
        compose.relay(T("01", "01"), T("01", "01"), "7")
    with pytest.raises(ModelError, match="different formats"):
        compose.relay(T("01", "01"), T("01", "01", Fixed(5)))
    with pytest.raises(FactError, match=r"exp\(-3/2\) rounds to 1/4"):
        compose.relay(T("01", "01", Float(1, 1)), T("012", "02", Float(1, 1)))


def test_a_looped_block_is_its_layers_again_and_again() -> None:
    T = random_transformer(Fixed(6), 3, Sizes(layers=3), Options(attention="average"))
    looped = loop.block(T, 1, 3, times=4)
    written_out = T.replace(layers=T.layers[:1] + T.layers[1:] * 4)
    assert looped.same_as(written_out)
    assert looped.layers[1] is T.layers[1]  # shared, not copied
    assert len(loop.block(T, 1, 3, times=0).layers) == 1
    assert "loop.block, 4 times layers 1–2" in looped.frame()
    once = loop.block(T, 0, 3, times=1)
    assert (once.run_batch(all_texts(4)).logits == T.run_batch(all_texts(4)).logits).all()
    with pytest.raises(ModelError, match="layers 1 to 4 are not a block; there are 3"):
        loop.block(T, 1, 4, 2)
    with pytest.raises(InputError, match="times is -1, and must be a whole number from 0"):
        loop.block(T, 0, 1, -1)


def test_a_loop_computes_an_iterate() -> None:
    """A block that doubles x, looped: 2^t · x, saturating."""
    from glyptic.carve import add
    from tests.carve.support import blank, run_added

    T = blank(Fixed(4), "x")
    doubled = loop.block(add.copy(T, {"x": "x"}), 0, 1, times=3)
    h = np.array([[[1, -3, 40]]])
    assert run_added(T, doubled, h)["x"].tolist() == [[8, -24, 255]]
