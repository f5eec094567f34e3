"""One frozen description of every model in this room.

Notation, used in all files of the room (tokens are rows: X is T×D; the lecture's columns are its transpose):

    B batch      T queries (new tokens)   S keys (all tokens that can be seen)
    D width      H heads                  G key–value heads      K width of a head      F feed-forward width
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import Any, Literal, TypedDict, Unpack, get_args, get_origin

from glyptic.arguments import shown
from glyptic.errors import ModelError
from glyptic.text import printable

Kind = Literal["decoder", "encoder", "encoder_decoder", "vit"]
Positions = Literal["sinusoidal", "learned", "shaw", "transformer_xl", "t5", "rotary", "alibi", "none"]
NormKind = Literal["layer", "rms", "rms_outside", "rms_plus_one", "batch", "instance", "group", "none"]
NormPlace = Literal["pre", "post"]
FeedForwardKind = Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"]
AttentionBackend = Literal["reference", "sdpa", "blocked"]
HeadOnTop = Literal["none", "linear", "mlm", "class", "distilled"]
Precision = Literal["float64", "float32"]
SinusoidalLayout = Literal["interleaved", "halves"]
ScalingKind = Literal["linear", "ntk", "llama3", "yarn"]
POSITIONS, BACKENDS = get_args(Positions), get_args(AttentionBackend)


@dataclass(frozen=True)
class RotaryScaling:
    """How rotary angles are stretched to reach beyond the trained length (see `positions/rotary.py`)."""

    kind: ScalingKind
    factor: float
    original_context: int = 0
    """Length the model was trained with; `llama3` and `yarn` need it."""
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None
    """`yarn`: factor on q and on k; None: 0.1 ln(factor) + 1."""
    truncate: bool = True
    """`yarn`: the ramp begins and ends at whole pairs."""

    def __post_init__(self) -> None:
        _check_types(self, "rotary_scaling.")
        if self.factor < 1:
            raise ModelError(f"rotary_scaling.factor={self.factor!r} must be at least 1.")
        if self.low_frequency_factor <= 0 or self.low_frequency_factor >= self.high_frequency_factor:
            raise ModelError(
                f"rotary_scaling.low_frequency_factor={self.low_frequency_factor!r} must be above 0 and below "
                f"high_frequency_factor={self.high_frequency_factor!r}."
            )
        if self.beta_fast <= 0 or self.beta_slow <= 0:
            raise ModelError(f"beta_fast={self.beta_fast!r} and beta_slow={self.beta_slow!r} must be above 0.")
        if self.kind in ("llama3", "yarn") and self.original_context < 1:
            raise ModelError(f"rotary_scaling.kind={self.kind!r} needs original_context, the trained length.")


# The fields of ModelConfig, for functions that take any of them: type checkers have no other word for that.
Changes = TypedDict(  # noqa: UP013
    "Changes",
    {
        "layers": int, "width": int, "heads": int, "vocabulary": int | None, "context": int,
        "encoder_layers": int | None, "key_value_heads": int | None, "head_width": int | None,
        "attention_scale": float | None, "attention_bias": bool, "attention_output_bias": bool,
        "query_key_norm": bool, "sliding_window": int | None, "backend": AttentionBackend, "feed_forward": FeedForwardKind,
        "feed_forward_width": int | None, "feed_forward_bias": bool, "norm": NormKind, "norm_place": NormPlace,
        "norm_eps": float, "norm_groups": int, "final_norm": bool | None, "parallel": bool, "positions": Positions,
        "position_precision": Precision, "position_offset": int, "sinusoidal_layout": SinusoidalLayout, "rotary_base": float,
        "rotary_fraction": float, "rotary_scaling": RotaryScaling | None, "relative_buckets": int,
        "relative_distance": int, "embedding_scale": bool, "embedding_scale_rounded": bool, "embedding_width": int | None,
        "embedding_norm": bool, "token_types": int,
        "head": HeadOnTop, "classes": int, "tied": bool, "output_bias": bool, "output_bias_frozen": bool,
        "output_scale": float, "image_size": int, "patch_size": int, "channels": int, "distillation_token": bool,
        "dropout": float, "attention_dropout": float,
    },
    total=False,
)


class AllChanges(Changes, total=False):
    kind: Kind


@dataclass(frozen=True)
class ModelConfig:
    """Everything that decides a model's shape and arithmetic; weights excepted.

    >>> ModelConfig(kind="decoder", layers=2, width=64, heads=4, vocabulary=100).head_size
    16
    >>> ModelConfig(kind="decoder", layers=2, width=64, heads=5)
    Traceback (most recent call last):
    ...
    glyptic.errors.ModelError: heads=5 does not divide width=64; give head_width, or another number of heads.
    """

    kind: Kind
    layers: int
    """Layers of the stack; of the decoder in an encoder–decoder."""
    width: int
    heads: int
    vocabulary: int | None = None
    """Number of tokens; None: the model reads vectors (`vectors=`) and has no token embedding."""
    context: int = 1024
    """Trained length: size of the learned table and default length of caches."""
    encoder_layers: int | None = None
    """Layers of the encoder in an encoder–decoder; None: as many as `layers`."""

    key_value_heads: int | None = None
    """None: one for each head; 1: multi-query; between: grouped-query."""
    head_width: int | None = None
    """None: width / heads."""
    attention_scale: float | None = None
    """Factor on scores; None: 1/√K. T5 uses 1."""
    attention_bias: bool = True
    attention_output_bias: bool = True
    query_key_norm: bool = False
    """RMSNorm on each head's queries and keys, before rotary positions turn them (Qwen3)."""
    sliding_window: int | None = None
    """A query sees this many keys at most, itself included."""
    backend: AttentionBackend = "sdpa"
    """Which attention kernel: `reference` (gives maps), `sdpa`, `blocked` (fast bfloat16 training)."""

    feed_forward: FeedForwardKind = "gelu"
    feed_forward_width: int | None = None
    """None: 4 × width."""
    feed_forward_bias: bool = True

    norm: NormKind = "layer"
    norm_place: NormPlace = "pre"
    norm_eps: float = 1e-5
    norm_groups: int = 4
    """Groups of `norm='group'`."""
    final_norm: bool | None = None
    """A norm after the last layer; None: yes with pre-norm, no with post-norm."""
    parallel: bool = False
    """Attention and feed-forward read the same residual and are added together (GPT-NeoX)."""

    positions: Positions = "learned"
    position_precision: Precision = "float64"
    """Sines and angles are computed in this precision; `float32` as the public checkpoints do it."""
    position_offset: int = 0
    """Rows of the learned table before that of the first position (OPT: 2; RoBERTa: one more than the id of its padding)."""
    sinusoidal_layout: SinusoidalLayout = "interleaved"
    """`interleaved` sin, cos, sin, cos … (Vaswani) or `halves` sin … sin cos … cos (Marian)."""
    rotary_base: float = 10000.0
    rotary_fraction: float = 1.0
    """Share of each head that is rotated."""
    rotary_scaling: RotaryScaling | None = None
    relative_buckets: int = 32
    relative_distance: int = 128
    """T5: distance from which one bucket serves all; Shaw: clipping distance."""

    embedding_scale: bool = False
    """Token embeddings × √D (Vaswani)."""
    embedding_scale_rounded: bool = False
    """That √D is rounded to float32, and then as the weights are (Gemma); else it is a number of 64 bits."""
    embedding_width: int | None = None
    """Width of the token embedding if it is not D: a matrix widens it to D, and one narrows hidden states (OPT-350m)."""
    embedding_norm: bool = False
    """A norm after the sum of embeddings (BERT)."""
    token_types: int = 0
    """Segment embeddings (BERT has 2)."""
    head: HeadOnTop = "linear"
    """`none`: hidden states; `linear`: logits over tokens; `mlm`: BERT's; `class`: logits over `classes`; `distilled`: DeiT's.

    `class` reads the first real token of an encoder, and the last real one of a decoder, which alone has seen all others.
    `distilled` is the mean of two of these, one that reads the class token and one that reads the distillation token.
    """
    classes: int = 0
    tied: bool = True
    """Output matrix = token embedding."""
    output_bias: bool = False
    output_bias_frozen: bool = False
    """Training leaves the output's bias as it is (Marian)."""
    output_scale: float = 1.0
    """Hidden states are multiplied by this before the output matrix (T5: 1/√D)."""

    image_size: int = 0
    patch_size: int = 0
    channels: int = 3
    distillation_token: bool = False
    """A second learned token after the class token (DeiT)."""

    dropout: float = 0.0
    attention_dropout: float = 0.0

    def __post_init__(self) -> None:
        _check_types(self)
        _check_sizes(self)
        _check_fit(self)

    @property
    def head_size(self) -> int:
        """K."""
        return self.head_width or self.width // self.heads

    @property
    def groups(self) -> int:
        """G, the number of key–value heads."""
        return self.key_value_heads or self.heads

    @property
    def hidden_size(self) -> int:
        """F, the width of the feed-forward's hidden layer."""
        return self.feed_forward_width or 4 * self.width

    @property
    def scale(self) -> float:
        """Factor on scores."""
        return self.attention_scale if self.attention_scale is not None else self.head_size**-0.5

    @property
    def has_final_norm(self) -> bool:
        return self.final_norm if self.final_norm is not None else self.norm_place == "pre"

    @property
    def has_decoder(self) -> bool:
        return self.kind in ("decoder", "encoder_decoder")

    @property
    def depth_of_encoder(self) -> int:
        return self.encoder_layers if self.encoder_layers is not None else self.layers

    def replace(self, **changes: Unpack[AllChanges]) -> ModelConfig:
        """The same config with some fields changed, checked anew."""
        known(changes, "replace")
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> ModelConfig:
        """Inverse of `to_dict`; a field that is unknown or missing is named."""
        if not isinstance(fields, dict):
            raise ModelError(f"{shown(fields)} must be a dictionary of fields.")
        scaling = fields.get("rotary_scaling")
        if isinstance(scaling, dict):
            fields = fields | {"rotary_scaling": _from_fields(RotaryScaling, scaling)}
        return _from_fields(cls, fields)


def _from_fields(kind: Any, fields: dict[str, Any]) -> Any:
    """A dataclass from a dictionary that must have all fields without a default, and no others."""
    known(fields, kind=kind)
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING and field.name not in fields:
            raise ModelError(f"{field.name} is missing; {kind.__name__} has no default for it.")
    return kind(**fields)


def known(fields: Mapping[str, Any], called: str = "", kind: Any = ModelConfig) -> None:
    """Refuse what is not a field, with the name of the function that was called and the nearest name that there is."""
    names = [field.name for field in dataclasses.fields(kind)]
    for name in sorted(fields.keys() - set(names), key=str):
        near = get_close_matches(str(name), names, 1)
        what = f"{printable(str(name))}={shown(fields[name])} is not a field of {kind.__name__}"
        told = f"{called}() takes no such argument: {what}" if called else what
        raise ModelError(f"{told}; is it {near[0]}?" if near else f"{told}.")


CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(kind) for name, kind in globals().items() if get_origin(kind) is Literal
}
KINDS_OF_VALUES: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"),
    "RotaryScaling": ((RotaryScaling,), "a RotaryScaling"),
    **dict.fromkeys(CHOICES, ((str,), "a text")),
}


def _check_types(config: Any, prefix: str = "") -> None:
    """Each field holds what its annotation says: a file may hold anything."""
    for field in dataclasses.fields(config):
        kind, _, optional = str(field.type).partition(" | ")
        value, (types, text) = getattr(config, field.name), KINDS_OF_VALUES[kind]
        if value is None and optional:
            continue
        if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool") or not _bounded(value):
            raise ModelError(f"{prefix}{field.name}={shown(value)} must be {text}{' or None' if optional else ''}.")
        if kind in CHOICES and value not in CHOICES[kind]:
            raise ModelError(f"{prefix}{field.name}={shown(value)} is not one of {', '.join(CHOICES[kind])}.")


def _bounded(value: object) -> bool:
    """Numbers are finite, and whole ones fit where torch and files keep them."""
    return isfinite(value) if isinstance(value, float) else not isinstance(value, int) or abs(value) < 2**31


def _check_sizes(config: ModelConfig) -> None:
    for field in ("layers", "width", "heads", "context", "norm_groups", "relative_buckets", "relative_distance"):
        _positive(field, getattr(config, field))
    optional = ("vocabulary", "key_value_heads", "head_width", "sliding_window", "feed_forward_width", "embedding_width")
    for field in (*optional, "encoder_layers"):
        if getattr(config, field) is not None:
            _positive(field, getattr(config, field))
    for field in ("dropout", "attention_dropout"):
        if not 0 <= getattr(config, field) < 1:
            raise ModelError(f"{field}={getattr(config, field)!r} must be at least 0 and below 1.")
    if not 0 < config.rotary_fraction <= 1:
        raise ModelError(f"rotary_fraction={config.rotary_fraction!r} must be above 0 and at most 1.")
    if config.rotary_base <= 0:
        raise ModelError(f"rotary_base={config.rotary_base!r} must be above 0.")
    for field in ("token_types", "classes", "image_size", "patch_size", "channels", "norm_eps", "position_offset"):
        if getattr(config, field) < 0:
            raise ModelError(f"{field}={getattr(config, field)!r} must not be negative.")


def _positive(field: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ModelError(f"{field}={value!r} must be a whole number of at least 1.")


def _check_fit(config: ModelConfig) -> None:
    """Fields that are fine alone and do not fit together."""
    if config.head_width is None and config.width % config.heads:
        raise ModelError(
            f"heads={config.heads} does not divide width={config.width}; give head_width, or another number of heads."
        )
    if config.heads % config.groups:
        raise ModelError(f"key_value_heads={config.groups} does not divide heads={config.heads}.")
    if config.norm == "group" and config.width % config.norm_groups:
        raise ModelError(f"norm_groups={config.norm_groups} does not divide width={config.width}.")
    if config.norm == "instance" and config.has_decoder:
        raise ModelError(
            f"norm='instance' takes its statistics over all tokens of a sequence, so kind={config.kind!r} "
            "would see the future; use 'layer', 'rms' or 'group'."
        )
    if config.parallel and config.norm_place == "post":
        raise ModelError("parallel=True needs norm_place='pre', not 'post'.")
    if config.parallel and config.kind == "encoder_decoder":
        raise ModelError("parallel=True has no place for cross-attention, so kind='encoder_decoder' cannot use it.")
    _check_positions(config)
    _check_ends(config)


def _check_positions(config: ModelConfig) -> None:
    rotated = int(config.rotary_fraction * config.head_size)
    if config.positions == "rotary" and (rotated < 2 or rotated % 2):
        raise ModelError(
            f"rotary_fraction={config.rotary_fraction!r} rotates {rotated} of head_width={config.head_size}; "
            "rotary positions need an even number of at least 2."
        )
    kind = None if config.rotary_scaling is None else config.rotary_scaling.kind
    if kind == "yarn" and config.rotary_base <= 1:
        raise ModelError(f"rotary_base={config.rotary_base!r} must be above 1 for rotary_scaling.kind='yarn'.")
    if kind == "ntk" and rotated < 4:
        raise ModelError(f"rotary_scaling.kind='ntk' needs at least 4 rotated coordinates a head, not {rotated}.")
    if config.positions in ("sinusoidal", "transformer_xl") and config.width % 2:
        raise ModelError(f"positions={config.positions!r} needs an even width, not width={config.width}.")
    if config.positions == "shaw" and config.backend != "reference":
        raise ModelError(
            f"positions='shaw' adds a vector to each value, which backend={config.backend!r} cannot do; "
            "use backend='reference'."
        )
    if config.positions == "t5" and config.relative_buckets < 4:
        raise ModelError(f"relative_buckets={config.relative_buckets} must be at least 4 for positions='t5'.")
    if config.positions == "t5" and config.relative_distance <= config.relative_buckets // 2:
        raise ModelError(
            f"relative_distance={config.relative_distance} must exceed half of "
            f"relative_buckets={config.relative_buckets} for positions='t5'."
        )


def _check_additions(config: ModelConfig) -> None:
    """What one public family has and most do not, where it would have no effect."""
    if config.position_offset and config.positions != "learned":
        raise ModelError(f"position_offset is of positions='learned', not of positions={config.positions!r}; leave it out.")
    if config.embedding_scale_rounded and not config.embedding_scale:
        raise ModelError("embedding_scale_rounded=True rounds what embedding_scale=False leaves out; set both or neither.")
    if config.embedding_width is not None and (config.vocabulary is None or config.head not in ("linear", "none")):
        raise ModelError(
            f"embedding_width is of a vocabulary and of head='linear' or 'none', not of head={config.head!r}; leave it out."
        )
    if config.distillation_token and config.kind != "vit":
        raise ModelError(f"distillation_token is of kind='vit', not of kind={config.kind!r}; leave it out.")
    if config.head == "distilled" and not config.distillation_token:
        raise ModelError("head='distilled' reads a distillation token; give distillation_token=True, or head='class'.")


def _check_ends(config: ModelConfig) -> None:
    """Inputs and outputs, and what would be left out of them in silence."""
    if config.rotary_scaling is not None and config.positions != "rotary":
        raise ModelError(f"rotary_scaling stretches rotary positions, and positions={config.positions!r}; leave it out.")
    if config.encoder_layers is not None and config.kind != "encoder_decoder":
        raise ModelError(f"encoder_layers is of kind='encoder_decoder', not of kind={config.kind!r}; leave it out.")
    if config.vocabulary is None and config.head in ("linear", "mlm"):
        raise ModelError(f"head={config.head!r} needs a vocabulary, so vocabulary=None cannot be; use head='none'.")
    if config.head in ("class", "distilled"):
        _positive("classes", config.classes)
    _check_additions(config)
    if config.kind == "vit":
        _positive("image_size", config.image_size)
        _positive("patch_size", config.patch_size)
        _positive("channels", config.channels)
        if config.image_size % config.patch_size:
            raise ModelError(f"patch_size={config.patch_size} does not divide image_size={config.image_size}.")
    if config.kind == "encoder_decoder" and config.vocabulary is None:
        raise ModelError("kind='encoder_decoder' reads tokens, so vocabulary=None cannot be.")
    if config.attention_dropout and config.backend == "blocked":
        raise ModelError(
            f"backend='blocked' has no dropout on weights, so attention_dropout={config.attention_dropout} cannot be."
        )
