"""`make demo`: the main job, end to end, printed.

A decider is run in its own arithmetic, normalized three ways and combined with another; each step is proved over every input
up to a length; one of the notes' constructions fails, with its counterexample; a proof is checked where there is no Glyptic; then
the same idea, a transformer as a value, on PyTorch and in the theory of in-context learning.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from glyptic import Fixed, Transformer, carve, languages, notes, programs, prove
from glyptic.errors import GlypticError, MissingExtra
from glyptic.exact import show_number
from glyptic.extras import brought_by
from glyptic.text import table

LENGTH = 10


def odd_without_101(text: str) -> bool:
    """What the combined decider of part 3 should say YES to."""
    return text.count("1") % 2 == 1 and "101" not in text


def title(text: str) -> None:
    print(f"\n── {text} {'─' * max(0, 96 - len(text))}\n")


def run_a_decider() -> None:
    title("1. A transformer in finite precision: parity, in F(8), every operation rounded")
    parity = programs.open(f"parity:{LENGTH}", Fixed(8))
    print(parity.describe())
    run = parity.run("0110100", trace="*.after_feed_forward")
    last = list(run.residual.values())[-1][-1]
    shown = {name: show_number(value, parity.format) for name, value in last.items() if value}
    print(f"\n0110100 → {run.answer};  the last residual, where it is not 0: {shown}")


def normalize() -> None:
    title(f"2. Its three normalizations agree with it on every input up to length {LENGTH}")
    parity = programs.open(f"parity:{LENGTH}", Fixed(8))
    rows = []
    for name in ("zero_one", "infinity", "plus_minus"):
        normal = getattr(carve.normalize, name)(parity)
        ends = [
            "(" + ", ".join(show_number(x, normal.format) for x in normal.run(text).logits) + ")"
            for text in ("0110", "0111")
        ]
        verdict = prove.equivalent(parity, normal, max_length=LENGTH)
        proved = f"{type(verdict).__name__}, {verdict.inputs:,} inputs" if verdict else str(verdict)
        rows.append((name, f"+{len(normal.layers) - len(parity.layers)}", *ends, proved))
    print(table(["kind", "layers", "0110", "0111", "the same answers as parity?"], rows, "lrlll"))


def combine() -> None:
    title("3. Closure: odd parity and not containing 101, one transformer from two; and the same from an expression")
    odd, contains = (programs.open(name, Fixed(8)) for name in (f"parity:{LENGTH}", f"contains:101,{LENGTH}"))
    both = odd & ~contains
    print(f"{both!r}\n\n{prove.language(both, odd_without_101, max_length=LENGTH)}")
    compiled = programs.open(f"regex:0*1(0*10*1)*0*&~(.*101.*),{LENGTH}", Fixed(8))
    print(f"\n{compiled!r}\n\n{prove.equivalent(both, compiled, max_length=LENGTH)}")
    print(f"\nand the same claim of parity alone:\n{prove.language(odd, odd_without_101, max_length=LENGTH)}")


def the_notes() -> None:
    title("4. A construction as printed in the notes, and as it works: h_2 ← M h_1, M exchanges two coordinates")
    source = Transformer.of(Fixed(4), "ab", ["x", "y"], [[1, 0], [2, 3]], [[1, 0], [0, 1]], ["X", "Y"], max_length=4)
    exchange = [[0, 1], [1, 0]]
    printed = notes.linear(source, exchange, 1, 2)
    try:
        printed.run("aba")
    except GlypticError as error:
        print(f"as printed, on aba: {type(error).__name__}: {error}")
    works = carve.linear.between(source, exchange, i=1, j=2)
    last = list(works.run("aba", trace="*.after_feed_forward").residual.values())[-1]
    print(f"the one that works: h_1 = (2, 3) and h_2 = ({last[2]['x']}, {last[2]['y']})\n\n{works.frame()}")


def lemmas() -> None:
    title("5. Lemmas for all values of a format, by two solvers; and one that rounding breaks")
    x, y = prove.variables("x y")
    print(
        prove.check(
            prove.Claim(prove.Values("x"), ((x + prove.B) + prove.B) - prove.B == 0), format=Fixed(8), method="smt"
        )
    )
    print(prove.check(prove.Claim(prove.Values("x y"), y + (x - y) == x, name="overwriting by t − h"), format=Fixed(8)))


def without_us() -> None:
    title("6. More inputs than anyone can run; and a proof that is checked where there is no Glyptic")
    print(prove.decisive(programs.by_name("parity:64", Fixed(6))))
    x, _ = prove.variables("x y")
    cleared = prove.Claim(prove.Values("x", Fixed(3)), ((x + prove.B) + prove.B) - prove.B == 0)
    verdict = prove.check(cleared, method="smt")
    if not verdict:  # an installation without solvers, which the verdict says
        print(f"\n{verdict}")
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "cleared"
        prove.export(folder, cleared, verdict)
        bare = [sys.executable, "-I", "-S", "check.py"]  # no packages, no environment
        said = subprocess.run(bare, cwd=folder, env={}, capture_output=True, text=True, check=True).stdout
    print("\npython -I -S check.py, in a folder with the claim, the verdict, SMT-LIB, clauses and a DRAT proof:")
    print("\n".join(line for line in said.splitlines() if "walking" in line or "DRAT" in line or "nothing" in line))


def on_pytorch() -> None:
    title("7. The architecture on PyTorch: the parallel pass and the cached steps are one function")
    import torch

    from glyptic import nn

    torch.set_num_threads(1)
    tokens = torch.randint(0, 97, (2, 24), generator=torch.Generator().manual_seed(0))
    rows = []
    for name in ("gpt2", "llama", "gpt_neox", "transformer_xl"):
        config = nn.preset(
            name, layers=2, width=64, heads=4, vocabulary=97, context=64, feed_forward_width=128, key_value_heads=None
        )
        model = nn.build(config, seed=0).double().eval()
        with torch.no_grad():
            whole, cache = model(tokens), model.new_cache(2, 24)
            steps = torch.cat([model(tokens[:, t : t + 1], cache=cache) for t in range(24)], dim=1)
        rows.append((name, config.positions, f"{(whole - steps).abs().max():.0e}"))
    print(table(["decoder", "positions", "largest difference, float64"], rows, "llr"))


def in_context() -> None:
    title("8. In-context learning: gradient flow reaches the closed-form minimum")
    from glyptic import icl

    problem = icl.Problem(icl.spectrum("inverse", 5), N=20)
    path = icl.reduced_flow(problem, icl.initial_blocks(problem, sigma=0.1))
    print(f"L* = {icl.minimum_loss(problem):.12f} in closed form; the flow ends {path.excess()[-1]:.1e} above it")


def every_length() -> None:
    title("9. Every length: a transformer without positions is an automaton, found exactly")
    same = programs.open("same-ends", "fixed:2")
    print(same.machine().minimal())
    print(prove.language(same, languages.regular("0|1|0.*0|1.*1")))


def train_and_know() -> None:
    title("10. Train a decider, make it exact, and prove what it does")
    import torch

    from glyptic.distill import TrainedDecider, distill
    from glyptic.train import Plan, train
    from glyptic.train.tasks import registry

    torch.set_num_threads(1)  # so small a model is slower on more
    task = registry.open("tomita:1,8,held_out=0")
    config = task.config().replace(layers=1, width=8, heads=1, feed_forward_width=16, norm="none", context=8)
    trained = train(task, Plan(steps=600, rate=5e-3, evaluate=100, reach=1.0), config=config)
    print(f"trained for {trained.rows[-1]['step']:.0f} steps: accuracy {trained.rows[-1]['evaluation_accuracy']:.4f}")
    print(distill(TrainedDecider("tomita 1", trained.model, task), "fixed:6", max_length=8, sweep=False))


def look_inside() -> None:
    title("11. Pages that compute, one HTML file each: open them in a browser")
    from examples.gallery import write

    for path in write(Path("demo-out")):
        print(f"{path}  {path.stat().st_size / 1000:,.0f} kB")


def main() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # signs that a terminal cannot show are printed as numbers
    start = time.perf_counter()
    for step in (run_a_decider, normalize, combine, the_notes, lemmas, without_us, on_pytorch, in_context,
                 every_length, train_and_know, look_inside):
        try:
            with brought_by("this part"):
                step()
        except MissingExtra as error:
            print(f"Left out: {error}")
    print(f"\n{time.perf_counter() - start:.0f} seconds. Next: docs/index.md, `glyptic --help`.")


if __name__ == "__main__":
    main()
