"""The words of fragments, in English and in Spanish."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "es"]

WORDS: dict[str, tuple[str, str]] = {
    # a construction
    "unnamed": ("unnamed transformer", "transformer sin nombre"),
    "construction": (
        "{name} in {format}: {sizes}; inputs of length {length} at most.",
        "{name} en {format}: {sizes}; entradas de largo {length} a lo sumo.",
    ),
    "finite": (
        "{infinity} is the largest value, {largest}; ties are rounded to {ties}.",
        "{infinity} es el mayor valor, {largest}; los empates se redondean {ties}.",
    ),
    "even": ("even", "al par"),
    "smaller": ("the smaller absolute value", "al menor valor absoluto"),
    "left out": (
        "Rows and columns of zeros are left out, {dot} is 0; layers, heads, positions and hidden units count from 0.",
        "Se omiten las filas y columnas de ceros, {dot} es 0; capas, cabezas, posiciones y unidades ocultas cuentan desde 0.",
    ),
    "embedding": ("Embeddings", "Embeddings"),
    "layer": ("Layer {number}", "Capa {number}"),
    "head": ("head {number}", "cabeza {number}"),
    "feed-forward": ("feed-forward", "feed-forward"),
    "attention norm": ("norm of attention", "norma de la atención"),
    "feed-forward norm": ("norm of feed-forward", "norma del feed-forward"),
    "final norm": ("final norm", "norma final"),
    "output": ("Output", "Salida"),
    # frames
    "frame": (
        "What each construction of {name} reads, writes, preserves and needs.",
        "Qué lee, escribe, conserva y necesita cada construcción de {name}.",
    ),
    "one frame": ("What {name} reads, writes, preserves and needs.", "Qué lee, escribe, conserva y necesita {name}."),
    "no history": ("{name} has no construction in its history.", "{name} no tiene construcciones en su historia."),
    "coordinates": ("coordinates", "coordenadas"),
    "positions": ("positions", "posiciones"),
    "value": ("value", "valor"),
    "reads": ("reads", "lee"),
    "writes": ("writes", "escribe"),
    "preserves": ("preserves", "conserva"),
    "clobbers": ("clobbers", "destruye"),
    "adds": ("adds", "agrega"),
    "needs": ("needs", "necesita"),
    "all": ("all", "todas"),
    "all but": ("all but {positions}", "todas salvo {positions}"),
    "places": ("layers {numbers}", "capas {numbers}"),
    "place": ("layer {numbers}", "capa {numbers}"),
    "no place": ("no layer", "ninguna capa"),
    "layer cost": ("{count} layer", "{count} capa"),
    "layers cost": ("{count} layers", "{count} capas"),
    "dimension cost": ("{count} coordinate", "{count} coordenada"),
    "dimensions cost": ("{count} coordinates", "{count} coordenadas"),
    "head cost": ("{count} head", "{count} cabeza"),
    "heads cost": ("{count} heads", "{count} cabezas"),
    "hidden unit cost": ("{count} hidden unit", "{count} unidad oculta"),
    "hidden units cost": ("{count} hidden units", "{count} unidades ocultas"),
    "coordinate cost": ("{count} new coordinate", "{count} coordenada nueva"),
    "coordinates cost": ("{count} new coordinates", "{count} coordenadas nuevas"),
    # runs
    "run": (
        "The residual stream of {name} in {format} on {tokens}, exact. Of each step, the coordinates that it changes.",
        "El flujo residual de {name} en {format} sobre {tokens}, exacto. De cada paso, las coordenadas que cambia.",
    ),
    "answers": ("{name} in {format} on {tokens}.", "{name} en {format} sobre {tokens}."),
    "stage embedding": ("embedding", "embedding"),
    "stage after_attention": ("layer {layer}, after attention", "capa {layer}, tras la atención"),
    "stage after_feed_forward": ("layer {layer}, after feed-forward", "capa {layer}, tras el feed-forward"),
    "stage final_norm": ("final norm", "norma final"),
    "unchanged": ("changes nothing", "no cambia nada"),
    "position": ("position", "posición"),
    "token": ("token", "token"),
    "weights": (
        "Attention weights, queries down and keys across: {symbols} is head {h} of layer {l}.",
        "Pesos de atención, consultas hacia abajo y claves a lo ancho: {symbols} es la cabeza {h} de la capa {l}.",
    ),
    "answer": ("answer", "respuesta"),
    "logit": ("logit", "logit"),
    "probability": ("probability", "probabilidad"),
    "answered": ("The answer is {answer}.", "La respuesta es {answer}."),
    "chain": ("Chain of thought: {chain}.", "Cadena de pensamiento: {chain}."),
    "continued": ("continued", "continuación"),
    # theorems
    "theorem": ("theorem", "teorema"),
    "theorems": (
        "Theorems of the constructions, for all values of each format. {proved} proved, two solvers agree; {simplified} the "
        "terms simplify to the theorem; {alone} one solver alone; {refuses} the construction refuses the format; {refuted} "
        "refuted; ? open.",
        "Teoremas de las construcciones, para todos los valores de cada formato. {proved} demostrado, dos solvers coinciden; "
        "{simplified} los términos se simplifican al teorema; {alone} un solo solver; {refuses} la construcción rechaza el "
        "formato; {refuted} refutado; ? abierto.",
    ),
    # verdicts
    "Proved": ("Proved", "Demostrado"),
    "Refuted": ("Refuted", "Refutado"),
    "Vacuous": ("Vacuous", "Vacuo"),
    "Unknown": ("Undecided", "Sin decidir"),
    "over": ("Over {over}.", "Sobre {over}."),
    "ran": ("By {method}: {count} inputs were run.", "Por {method}: se corrieron {count} entradas."),
    "by": ("By {method}: {solvers}.", "Por {method}: {solvers}."),
    "satisfying": ("{count} of them meet the precondition.", "{count} de ellas cumplen la precondición."),
    "smallest witness": ("Smallest witness: {example}.", "Menor testigo: {example}."),
    "a witness": ("A small witness: {example}.", "Un testigo pequeño: {example}."),
    "smallest counterexample": ("Smallest counterexample: {example}.", "Menor contraejemplo: {example}."),
    "a counterexample": ("A small counterexample: {example}.", "Un contraejemplo pequeño: {example}."),
    "none exists": ("Nothing makes it true.", "Nada lo hace verdadero."),
    "failures": ("{failures} of {inputs} fail.", "Fallan {failures} de {inputs}."),
    "vacuous": ("Nothing meets the precondition {requires}.", "Nada cumple la precondición {requires}."),
    "stopped": ("Stopped by {reason}.", "Detenido por {reason}."),
    "assuming": ("Assuming that", "Suponiendo que"),
    # least precision
    "precision": (
        "Least precision {s(n)} of {name} in {formats}: the smallest {s} in which it is right on all inputs of length {n}, "
        "and what goes wrong with one less; {T} steps, width {d}, {L} layers; the largest smaller {s} that is refused, "
        "and refuted.",
        "Precisión mínima {s(n)} de {name} en {formats}: el menor {s} en que acierta en todas las entradas de largo {n}, y "
        "qué falla con uno menos; {T} pasos, ancho {d}, {L} capas; el mayor {s} más chico que se rechaza, y que se refuta.",
    ),
    "refused": ("refused", "rechazado"),
    "refuted": ("refuted", "refutado"),
    "one less": ("one less fails by", "con uno menos falla"),
    # errata
    "erratum": ("Erratum {number}", "Errata {number}"),
}


def word(key: str, language: Language, **filled: object) -> str:
    """A word or a sentence in a language; what fills it is LaTeX already, and so is what comes out.

    >>> print(word("layer", "es", number=3), word("position", "es"))
    Capa 3 posici\\'{o}n
    """
    from glyptic.look.latex.escaping import text

    said = WORDS[key][("en", "es").index(language)]
    pieces = said.split("{")
    out = [text(pieces[0])]
    for piece in pieces[1:]:
        field, _, rest = piece.partition("}")
        out += [str(filled[field]), text(rest)]
    return "".join(out)
