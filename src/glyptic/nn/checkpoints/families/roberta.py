"""RoBERTa: BERT whose positions are counted from one after the id of its padding, with a head of its own."""

from __future__ import annotations

from typing import Any

from glyptic.arguments import Count
from glyptic.errors import FileError
from glyptic.nn.checkpoints.families import bert
from glyptic.nn.checkpoints.families.fields import SIZE, Field, read
from glyptic.nn.checkpoints.families.mapping import ACTIVATION, Entry, Family, linear, same
from glyptic.nn.config import ModelConfig

FIELDS: dict[str, Field] = {
    **bert.FIELDS,
    "max_position_embeddings": read("", SIZE),  # rows of the table, with those that no position has
    "pad_token_id": read("", Count(0, 2**31 - 1), 1),
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    rows, offset = values["max_position_embeddings"], values["pad_token_id"] + 1
    if rows <= offset:
        raise FileError(f"pad_token_id={offset - 1} leaves no position in a table of max_position_embeddings={rows} rows.")
    predicts = any(name.startswith("lm_head.") for name in names)
    if predicts and values["hidden_act"] != "gelu":
        raise FileError(f"hidden_act={ACTIVATION.back(values['hidden_act'])!r} is not supported beside lm_head, which has gelu.")
    common = {"kind": "encoder", "norm_place": "post", "positions": "learned", "embedding_norm": True}
    return {**common, "context": rows - offset, "position_offset": offset, "head": "mlm" if predicts else "none"}


def also(config: ModelConfig) -> dict[str, Any]:
    rows = {"max_position_embeddings": config.context + config.position_offset, "pad_token_id": config.position_offset - 1}
    return {"architectures": ["RobertaForMaskedLM" if config.head == "mlm" else "RobertaModel"], **rows}


def entries(config: ModelConfig) -> list[Entry]:
    found = bert.body(config, "roberta")
    if config.head == "mlm":
        found += linear("output.dense", "lm_head.dense") + linear("output.norm", "lm_head.layer_norm")
        if config.tied:
            found.append(same("output.bias", "lm_head.bias"))
        else:  # then the public model adds the bias of `decoder`, and not the other one
            found += linear("output", "lm_head.decoder")
    return found


FAMILY = Family(
    "roberta",
    bert.FAMILY.choices,
    FIELDS,
    derive,
    also,
    entries,
    prefix="roberta.",
    ignored=("*pooler.dense.*", "*position_ids", "lm_head.bias"),
    copies={
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    },
    renamed=bert.FAMILY.renamed,
)
