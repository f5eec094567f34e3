"""What the names in a claim stand for at the states of its machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from glyptic.exact.answers import UNDEFINED, WORDS_BELOW
from glyptic.exact.running import prepared_for
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.evaluation import BatchSetting, NumberedWords, Partial
from glyptic.prove.elements.batches import brought, part_codes
from glyptic.prove.methods.states.product import Level, Machines, chains


def setting_of_level(machines: Machines, level: Level) -> BatchSetting:
    """The setting of the states of a level."""
    subject, size = machines.subject, len(level.rows)
    names = list(subject.transformers)
    some = prepared_for(subject.transformers[names[0]]).arithmetic
    state = {name: level.rows[:, k] for k, name in enumerate(names)}
    accepting = {key: level.rows[:, len(names) + k] for k, key in enumerate(machines.automata)}
    said = {
        name: chains(machines.found[name], transformer, state[name], machines.steps)
        for name, transformer in subject.transformers.items()
    }

    def read(node: Any) -> Partial:
        transformer, found = subject.transformers[node.of], machines.found[node.of]
        if isinstance(node, e.Parameter):
            code = part_codes(transformer, node.part)[node.index]
            return Partial(some.values(np.full(size, code)), np.zeros(size, bool))
        vector = found.vector[state[node.of]]
        if isinstance(node, e.Logit):
            codes = found.logits[:, transformer.answers.index(node.answer)]
        else:
            codes = found.traced[node.stage][:, transformer.coordinate(node.coordinate)]
        own = prepared_for(transformer).arithmetic
        picked = np.append(codes, 0)[vector]  # of −1 the last, a stand-in
        return Partial(brought(own.values(picked), own, some), vector < 0)

    def word(node: Any) -> NumberedWords:
        if isinstance(node, e.Token):
            return level.last, (*WORDS_BELOW, *subject.vocabulary)
        return said[node.of][node.step], (*WORDS_BELOW, *subject.transformers[node.of].answers)

    def decided(node: Any) -> np.ndarray:
        if isinstance(node, e.Accepted):
            return machines.automata[id(node)][1][accepting[id(node)]]
        if isinstance(node, e.SameChains):
            left, right = (_words(subject.transformers[of].answers)[said[of] + 2] for of in (node.left, node.right))
            return np.asarray((left == right).all(axis=0))
        if node.attention:
            return machines.found[node.of].vector[state[node.of]] >= 0
        return said[node.of][-1] != UNDEFINED

    return BatchSetting(some, size, read, word, decided)


def _words(answers: tuple[str, ...]) -> np.ndarray:
    return np.array([*WORDS_BELOW, *answers], object)
