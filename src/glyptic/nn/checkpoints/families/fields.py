"""What each field of a family's config.json means to us: it is read, it has one value that we compute, or it is idle.

Every family has such a table, and no field is passed over in silence: one that the table does not have may change the model,
so it is refused by name. `COMMON` has what every config of the public library may hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glyptic.arguments import Count, Number, Rule, refused, shown
from glyptic.errors import FileError
from glyptic.nn.config import ModelConfig

REQUIRED: Any = object()
ABSENT: Any = object()  # may be left out, which gives None; but `null` is no way to say so, since the public library reads it


@dataclass(frozen=True)
class Read:
    """Decides the model: becomes our fields of these names. `null` counts as absent where the default is None."""

    ours: tuple[str, ...]
    rule: Rule
    default: Any = REQUIRED


@dataclass(frozen=True)
class Only:
    """Changes what is computed, and we compute one value of it: the default."""

    value: Any


@dataclass(frozen=True)
class Idle:
    """Has no effect on what a model computes; says why."""

    why: str


Field = Read | Only | Idle


def read(name: str, rule: Rule, default: Any = REQUIRED) -> Read:
    """Read into our fields, whose names are separated by blanks; none: what becomes of it is worked out by the family."""
    return Read(tuple(name.split()), rule, default)


@dataclass(frozen=True)
class Words:
    """One of these words, which stand for ours."""

    ours: Mapping[str, str]

    @property
    def meanings(self) -> list[str]:
        return list(self.ours.values())

    def __call__(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in self.ours:
            raise refused(name, value, f"one of {', '.join(self.ours)}")
        return self.ours[value]

    def back(self, ours: str) -> str:
        """The first of their words that stands for ours."""
        return next(word for word, meaning in self.ours.items() if meaning == ours)


def flag(name: str, value: Any) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise refused(name, value, "true or false")
    return value


def group(name: str, value: Any) -> Mapping[str, Any]:
    """An object of JSON, or null."""
    if value is not None and not isinstance(value, dict):
        raise refused(name, value, "an object")
    return value or {}


def optional(rule: Rule) -> Rule:
    """What the rule admits, or null: where absence means a value that is not null."""
    return lambda name, value: None if value is None else rule(name, value)


SIZE = Count(1, 2**31 - 1)  # a tensor has such a side
EPSILON = Number(least=0)

SIZES: Mapping[str, Field] = {  # as most families call them
    "num_hidden_layers": read("layers", SIZE),
    "hidden_size": read("width", SIZE),
    "num_attention_heads": read("heads", SIZE),
    "intermediate_size": read("feed_forward_width", SIZE),
}
TEXT: Mapping[str, Field] = {
    **SIZES,
    "vocab_size": read("vocabulary", SIZE),
    "max_position_embeddings": read("context", SIZE),
}

RECORD = Idle("a record of where the file comes from")
_RETURNED = Idle("what the public library hands back besides the result")
TRAINING = Idle("training alone; ours has its own dropout, which is no matter of a checkpoint")
_GENERATION = Idle("how the public library generates; ours is told by its arguments")
_LABELS = Idle("names of classes, and losses over them")

def each(names: str, field: Field) -> dict[str, Field]:
    """The same said of several fields, whose names are separated by blanks."""
    return dict.fromkeys(names.split(), field)


COMMON: Mapping[str, Field] = {
    "model_type": Idle("it has chosen the family"),
    **each("architectures transformers_version _name_or_path name_or_path _commit_hash finetuning_task", RECORD),
    **each("tokenizer_class task_specific_params output_past gradient_checkpointing tf_legacy_loss torchscript", RECORD),
    **each("use_bfloat16 attn_implementation _attn_implementation _attn_implementation_autoset", RECORD),
    **each("dtype torch_dtype", Idle("numbers are loaded as they are stored, or as dtype= says")),
    **each("output_hidden_states output_attentions output_scores return_dict return_dict_in_generate", _RETURNED),
    **each("use_cache max_length min_length max_new_tokens do_sample early_stopping num_beams num_beam_groups", _GENERATION),
    **each("diversity_penalty temperature top_k top_p typical_p repetition_penalty length_penalty", _GENERATION),
    **each("no_repeat_ngram_size encoder_no_repeat_ngram_size bad_words_ids num_return_sequences prefix", _GENERATION),
    **each("forced_bos_token_id forced_eos_token_id remove_invalid_values exponential_decay_length_penalty", _GENERATION),
    **each("suppress_tokens begin_suppress_tokens", _GENERATION),
    **each("bos_token_id eos_token_id sep_token_id decoder_start_token_id", _GENERATION),
    "pad_token_id": Idle("training alone: the public library does not train this row of the embedding"),
    **each("id2label label2id num_labels _num_labels problem_type classifier_dropout", _LABELS),
    **each("initializer_range initializer_factor init_std", TRAINING),
    "chunk_size_feed_forward": Idle("the same numbers, computed in pieces"),
    "cross_attention_hidden_size": Only(None),
    "is_encoder_decoder": Only(False),
    "add_cross_attention": Only(False),
    "is_decoder": Only(False),
    "tie_encoder_decoder": Only(False),
    "pruned_heads": Only({}),
    "quantization_config": Only(None),
    "auto_map": Only(None),  # code of its own, which nobody has read
}


def judged(table: Mapping[str, Field], aliases: Mapping[str, str], fields: Mapping[str, Any], family: str) -> dict[str, Any]:
    """The values of all fields that are read, in the family's names, once every field of the file has been judged."""
    fields = _by_one_name(aliases, fields)
    for name in sorted(fields.keys() - table.keys() - COMMON.keys()):
        raise FileError(
            f"{name}={shown(fields[name])} is not a field of {family} that we know, and it may change the model; "
            "if it does not, take it out of the file."
        )
    values: dict[str, Any] = {}
    for name, field in {**COMMON, **table}.items():
        if isinstance(field, Only) and not _is_only(fields.get(name, field.value), field.value):
            raise FileError(f"{name}={shown(fields[name])} is not supported; only {field.value!r} is.")
        if isinstance(field, Read):
            values[name] = _value(name, field, fields, family)
    return values


# fields of ours that may be left out, and where a model has their value
DERIVED = {
    "head_width": "head_size",
    "key_value_heads": "groups",
    "feed_forward_width": "hidden_size",
    "final_norm": "has_final_norm",
    "encoder_layers": "depth_of_encoder",
    "attention_scale": "scale",
}


def written(table: Mapping[str, Field], config: ModelConfig) -> dict[str, Any]:
    """The fields of the table that are read into ours, as a config of ours has them."""
    found = {}
    for name, field in table.items():
        if isinstance(field, Read) and field.ours:
            value = getattr(config, DERIVED.get(field.ours[0], field.ours[0]))
            found[name] = field.rule.back(value) if isinstance(field.rule, Words) else value
    return found


def _is_only(value: Any, only: Any) -> bool:
    """Whether a field has the value that we compute; `null` counts for what is off, empty or absent."""
    return value == only or (value is None and not only)


def _by_one_name(aliases: Mapping[str, str], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields under the names of our tables; a field that is there by two names must have one value."""
    found = {name: value for name, value in fields.items() if name not in aliases}
    for alias, name in aliases.items():
        if alias in fields and found.setdefault(name, fields[alias]) != fields[alias]:
            raise FileError(f"{alias}={shown(fields[alias])} and {name}={shown(found[name])} are the same field and differ.")
    return found


def _value(name: str, field: Read, fields: Mapping[str, Any], family: str) -> Any:
    if name not in fields and field.default is REQUIRED:
        raise FileError(f"{name} is missing, which {family} needs.")
    if name not in fields and field.default is ABSENT:
        return None
    value = fields.get(name, field.default)
    return None if value is None and field.default is None else field.rule(name, value)
