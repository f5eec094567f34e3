"""What has no longest input, on pages and in the studio."""

import json

from glyptic import languages, programs, prove
from glyptic.look.studio.opening import about
from glyptic.look.values.proof import proof_view
from glyptic.prove.questions import recognition


def test_pages_of_endless_transformers_and_their_proofs_are_json() -> None:
    transformer = programs.open("same-ends", "fixed:2")
    assert json.loads(json.dumps(about(transformer), allow_nan=False))["max_length"] == "∞"
    view = transformer.look("0110").views[0]
    json.dumps(view.data, allow_nan=False)
    for language in ("0|1|0.*0|1.*1", "0*"):
        claim = recognition(transformer, languages.regular(language))
        for shown in proof_view(prove.check(claim, progress=False), claim):
            json.dumps(shown.data, allow_nan=False)
    assert r"$\infty$" in transformer.to_latex()
