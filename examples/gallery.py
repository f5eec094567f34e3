"""One page of every kind: `python -m examples.gallery FOLDER` writes them; `make demo` ends with it, the tests open them all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from glyptic import Fixed, languages, look, programs, prove
from glyptic.look import Page
from glyptic.prove.questions import equivalence, recognition
from glyptic.studies import least_precision


def exact_run() -> Page:
    return look.page(programs.open("parity:8", Fixed(8)), "0110100")


def counterexample() -> Page:
    """Two deciders that should agree, and do not."""
    one, other = programs.open("contains:11,6", "fixed:6"), programs.open("contains:101,6", "fixed:6")
    claim = equivalence(one, other, max_length=6)
    return look.page(prove.check(claim), claim)


def proof() -> Page:
    odd = programs.open("parity:8", "fixed:6")
    claim = recognition(odd, languages.regular("0*1(0*10*1)*0*"), max_length=8)
    return look.page(prove.check(claim), claim)


def automaton() -> Page:
    return look.page(languages.regular("0*1(0*10*1)*0*"), "0110100")


def machine() -> Page:
    """The exact automaton of a transformer without positions: brackets of depth two."""
    return look.page(programs.open("nested:ab", "fixed:2").machine().minimal(), "aabb")


def positions() -> Page:
    from glyptic.look.opening import open_page

    return open_page("positions")


def norms() -> Page:
    from glyptic.look.opening import open_page

    return open_page("norms")


def lab() -> Page:
    from glyptic.look.opening import open_page

    return open_page("lab")


def precision() -> Page:
    """How much precision counting needs, by length, and what goes wrong with one bit less."""
    from glyptic.carve.examples import majority

    found = least_precision(majority, 8, of=lambda word: word.count("1") > len(word) / 2, progress=False, workers=1)
    return look.page(found)


@contextmanager
def one_thread() -> Iterator[None]:
    """So small are these models that threads would only wait for one another."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def model() -> Page:
    """A decoder that has just learnt to repeat: some of its heads look at what came after the same token before."""
    import torch

    from glyptic import nn

    letters = "abcdefgh"
    config = nn.ModelConfig(kind="decoder", layers=2, width=32, heads=4, vocabulary=8, context=32, backend="reference")
    decoder = nn.build(config, seed=1)
    optimizer = torch.optim.AdamW(decoder.parameters(), lr=5e-3, fused=True)
    for step in range(300):
        half = torch.randint(8, (64, 12), generator=torch.Generator().manual_seed(step))
        tokens = torch.cat([half, half], dim=1)
        logits = decoder(tokens[:, :-1])[:, 11:]  # from the second time on, each next token can be known
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 12:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    word = [letters.index(letter) for letter in "headbagfhceg" * 2]
    return look.page(decoder, word, vocabulary=list(letters), title="A decoder that repeats")


@one_thread()
def training() -> Page:
    """Linear attention trained in context, from three seeds, and the exact minimum that it comes to."""
    from glyptic import icl
    from glyptic.icl.experiments.over_flow import TrainingRun, fit
    from glyptic.look.values.training import training_view

    runs = {f"seed {seed}": fit(TrainingRun(d=5, N=20, steps=400, seed=seed), progress=False)[1] for seed in range(3)}
    exact = icl.minimum_loss(icl.Problem.isotropic(5, 20))
    view = training_view(runs, lines={"exact minimum": exact}, title="Linear attention, trained in context")
    return Page((view,), view.title)


PAGES: dict[str, Callable[[], Page]] = {
    "exact": exact_run,
    "counterexample": counterexample,
    "proof": proof,
    "automaton": automaton,
    "machine": machine,
    "precision": precision,
    "model": model,
    "training": training,
    "positions": positions,
    "norms": norms,
    "lab": lab,
}


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return [make().save(folder / f"{name}.html") for name, make in PAGES.items()]


if __name__ == "__main__":
    for path in write(Path(sys.argv[1] if len(sys.argv) > 1 else "pages")):
        print(f"{path}: {path.stat().st_size / 1000:,.0f} kB")
