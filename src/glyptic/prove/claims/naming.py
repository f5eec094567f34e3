"""Every name in a claim must exist, or the claim is refused in one sentence: a word that is never said would prove anything."""

from __future__ import annotations

from collections.abc import Iterable

from glyptic.errors import GlypticError
from glyptic.exact import Transformer
from glyptic.exact.answers import WORDS_BELOW
from glyptic.exact.forward import visible_pairs
from glyptic.exact.parts import parts
from glyptic.languages.automata import Automaton
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.expressions import ClaimError
from glyptic.prove.claims.scopes import check_grammar, check_scopes
from glyptic.prove.claims.subjects import Inputs, Layers, Subject, Values, check_index


def check_names(subject: Subject, conditions: Iterable[e.Condition]) -> None:
    """Check the names in a claim's conditions, and that these are made as expressions are."""
    whole = tuple(conditions)
    for condition in whole:
        check_grammar(condition)
    check_scopes(whole, subject.names if isinstance(subject, Values) else ())
    for condition in whole:
        for node in condition.parts():
            _check_node(subject, node)


def _check_node(subject: Subject, node: e.Node) -> None:
    match node:
        case e.Variable():
            _check_variable(subject, node)
        case e.Coordinate() | e.Logit() | e.Answer() | e.Defined():
            _check_of_transformer(subject, node)
        case e.Attention():
            _check_attention(subject, node)
        case e.Parameter(part, index, of):
            shapes = {name: codes.shape for name, codes, _ in parts(_transformer(subject, node, of))}
            if part not in shapes:
                raise ClaimError(f"no weights {part!r}; there are {', '.join(shapes)}.")
            check_index(part, index, shapes[part])
        case e.Token(position):
            _need_inputs(subject, node)
            _check_position(subject, position)
        case e.Accepted(automaton):
            _need_inputs(subject, node)
            _check_alphabet(subject, automaton)
        case e.Holds():
            _need_inputs(subject, node)
        case e.SameChains(left, right):
            _need_inputs(subject, node)
            for of in (left, right):
                _transformer(subject, node, of)
        case e.SameWord(left, right):
            if isinstance(left, e.Text) and isinstance(right, e.Text):
                raise ClaimError(f"{node} compares two words; compare an answer or a token with one.")
            for said, text in ((left, right), (right, left)):
                if isinstance(text, e.Text):
                    _check_word(subject, said, text.text)


def _check_alphabet(subject: Subject, automaton: Automaton) -> None:
    assert isinstance(subject, Inputs)
    missing = [token for token in subject.vocabulary if token not in automaton.alphabet]
    if missing:
        named = f"{automaton.name}: the token {missing[0]!r} is not in the alphabet {' '.join(automaton.alphabet)}"
        raise ClaimError(f"{named}; give the automaton all tokens of the vocabulary as its alphabet.")


def _check_variable(subject: Subject, node: e.Variable) -> None:
    if not isinstance(subject, Values) or node.name not in subject.names:
        known = ", ".join(subject.names) if isinstance(subject, Values) else "none, for it is about a transformer"
        raise ClaimError(f"no variable {node.name!r}; its variables: {known}.")


def _need_inputs(subject: Subject, node: e.Node) -> None:
    if not isinstance(subject, Inputs):
        raise ClaimError(f"{node} is about inputs; this claim is about {subject}, which has none.")


def _transformer(subject: Subject, node: e.Node, of: str) -> Transformer:
    if isinstance(subject, Values):
        known = ", ".join(subject.names)
        raise ClaimError(f"{node} needs a transformer; this claim is about the variables {known}.")
    if of not in subject.transformers:
        known = ", ".join(repr(name) for name in subject.transformers)
        raise ClaimError(f"no transformer {of!r}; there are {known}.")
    return subject.transformers[of]


def _check_of_transformer(subject: Subject, node: e.Coordinate | e.Logit | e.Answer | e.Defined) -> None:
    transformer = _transformer(subject, node, node.of)
    if isinstance(node, e.Coordinate):
        try:
            transformer.coordinate(node.coordinate)
        except GlypticError as error:
            raise ClaimError(str(error)) from None
        _check_position(subject, node.position)
        stages = ("before", "after") if isinstance(subject, Layers) else tuple(residual_stages(transformer))
        if node.stage not in stages:
            raise ClaimError(f"no stage {node.stage!r}; there are {', '.join(stages)}.")
    elif isinstance(node, e.Logit) and node.answer not in transformer.answers:
        raise ClaimError(f"no answer {node.answer!r}; there are {', '.join(transformer.answers)}.")
    elif isinstance(node, e.Defined) and node.attention and isinstance(subject, Inputs):
        if any(step > 1 for step in subject.steps_taken):
            raise ClaimError(f"{node} is about one step, and these inputs take several; write defined(), which is about all.")
    elif isinstance(node, e.Answer):
        fewest = min(subject.steps_taken) if isinstance(subject, Inputs) else 1
        if not -fewest <= node.step < fewest:
            raise ClaimError(f"{node}: there is no such step; the shortest chain of thought has {fewest}, from 0.")


def _check_attention(subject: Subject, node: e.Attention) -> None:
    """A head of a layer that is run, and a pair that its mask shows, at every length."""
    transformer = _transformer(subject, node, node.of)
    layers = subject.layers_of(transformer) if isinstance(subject, Layers) else range(len(transformer.layers))
    if node.layer not in layers:
        known = f"{layers.start} to {layers.stop - 1}" if layers else "none"
        raise ClaimError(f"{node}: no layer {node.layer} is run here; those that are: {known}.")
    heads = len(transformer.layers[node.layer].heads)
    if not 0 <= node.head < heads:
        raise ClaimError(f"{node}: layer {node.layer} has {heads} heads, from 0.")
    for position in (node.query, node.key):
        _check_position(subject, position)
    assert not isinstance(subject, Values)
    if isinstance(subject, Inputs):  # of longer ones a mask shows no less
        several = [subject.min_length] if subject.endless else list(subject.lengths)
    else:
        several = [subject.positions]
    mask = transformer.options.mask
    for length in several:
        if not visible_pairs(mask, 0, length)[node.query, node.key]:
            raise ClaimError(f"{node}: of {length} positions the {mask} mask hides that key from that query.")


def _check_word(subject: Subject, said: e.Word, text: str) -> None:
    """What an answer or a token is compared with must be one of its words."""
    if isinstance(said, e.Answer):
        words = (*_transformer(subject, said, said.of).answers, *reversed(WORDS_BELOW))
    elif isinstance(said, e.Token) and isinstance(subject, Inputs):
        words = subject.vocabulary
    else:
        return
    if text not in words:
        raise ClaimError(f"{said} is never {text!r}; it is one of {', '.join(words)}.")


def _check_position(subject: Subject, position: int) -> None:
    if isinstance(subject, Inputs):
        need = position + 1 if position >= 0 else -position
        if need > subject.min_length:
            short = f"inputs of length {subject.min_length}"
            raise ClaimError(f"position {position} does not exist in {short}; set min_length={need}.")
    elif isinstance(subject, Layers) and not -subject.positions <= position < subject.positions:
        raise ClaimError(f"position {position} is not among the positions 0 to {subject.positions - 1}.")


def residual_stages(transformer: Transformer) -> list[str]:
    """The names of the residual streams of a run."""
    sublayers = ("after_attention", "after_feed_forward")
    layers = [f"layer.{l}.{part}" for l in range(len(transformer.layers)) for part in sublayers]
    normed = ["embedding_norm"] if transformer.embedding_norm is not None else []
    return ["embedding", *normed, *layers, *(["final_norm"] if transformer.final_norm is not None else [])]
