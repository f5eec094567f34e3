"""A distillation as a folder, which every command opens as the distilled transformer itself:

    config.json, model.safetensors        the transformer in its format: `glyptic run FOLDER 0110`
    zero-one/, infinity/, plus-minus/     its normal forms, folders of the same kind
    certificates/                         language.json, equal-….json: `glyptic prove --recheck` checks them again
    report.json, report.md                what was measured, proved and done
    formats.svg, formats.csv              accuracy against smaller formats
    state.safetensors                     the weights before they are rounded, from which the same command goes on

Every file is whole at any time; the report is written last.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glyptic.arguments import checked
from glyptic.distill.formats import draw_formats
from glyptic.distill.keeping import REPORT, STATE, another
from glyptic.distill.proving import KINDS, save_certificates
from glyptic.distill.report import KIND, as_bytes
from glyptic.errors import FileError
from glyptic.exact import load
from glyptic.exact.files import CONFIG, WEIGHTS
from glyptic.files import quoted_path, read_json, sentences, write_whole
from glyptic.prove.verdicts.answers import Verdict, verdict_from_json

if TYPE_CHECKING:
    from glyptic.distill.distilling import Distillation

CERTIFICATES, FIGURE, RUN_FOLDER = "certificates", "formats.svg", "run"
_OURS = {CONFIG, WEIGHTS, REPORT, "report.md", CERTIFICATES, FIGURE, "formats.csv", STATE, RUN_FOLDER, *KINDS}


def check_place(folder: str | os.PathLike[str]) -> None:
    """Refuse a folder with anything in it that is not of a distillation, before any work."""
    place = Path(folder)
    with sentences(folder):
        there = sorted(name for name in os.listdir(place) if not name.startswith(".")) if place.exists() else []
    if there and ((STATE not in there and REPORT not in there and there != [RUN_FOLDER]) or not set(there) <= _OURS):
        strange = next((name for name in there if name not in _OURS), there[0])
        raise FileError(f"{quoted_path(folder)} is taken: it holds {strange!r}, and no distillation; name a new folder.")


def save(found: Distillation, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write all of it; a folder that holds anything else is refused, and another decider's too, but to overwrite it."""
    check_place(folder)
    place = Path(folder)
    if not overwrite and (place / REPORT).exists():
        there = read_json(place / REPORT)
        of = (there.get("name"), there.get("task")) if isinstance(there, dict) else None
        if of != (found.name, found.task):
            raise another(place)
    _remove_others(found, place)
    found.transformer.save(place, overwrite=True)
    claims = {"language": found.language}
    for form in found.normal:
        if form.transformer is not None and form.equal is not None:
            form.transformer.save(place / form.kind, overwrite=True)
            claims[f"equal-{form.kind}"] = form.equal
    save_certificates(place / CERTIFICATES, claims)
    if found.formats:
        draw_formats(found.formats, place / FIGURE, f"{found.task} in smaller formats")
    for name, data in as_bytes(found).items():
        write_whole(place / name, data, "the report")


def _remove_others(found: Distillation, place: Path) -> None:
    """What an earlier distillation left here and this one does not write anew: it would stand beside another transformer."""
    lacking = [kind for kind in KINDS if not any(form.kind == kind and form.equal is not None for form in found.normal)]
    with sentences(place):
        for kind in lacking:
            (place / CERTIFICATES / f"equal-{kind}.json").unlink(missing_ok=True)
            if (place / kind).is_dir() and not (place / kind).is_symlink():
                shutil.rmtree(place / kind)
        for name in (REPORT, "report.md", *(() if found.formats else (FIGURE, "formats.csv"))):
            (place / name).unlink(missing_ok=True)


@checked
def load_report(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What report.json of a distillation says; its transformer is `glyptic.exact.load(folder)`."""
    path = Path(folder) / REPORT
    if not path.exists():
        raise FileError(f"{quoted_path(folder)} is not a distillation: it has no {REPORT}.")
    found = read_json(path)
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise FileError(f"{quoted_path(path)} is not the report of a distillation.")
    load(folder)  # which is to be there
    return found


def verdict_in(report: dict[str, Any]) -> Verdict:
    """The verdict on the language."""
    return verdict_from_json(report.get("language"))


__all__ = ["check_place", "load_report", "save", "verdict_in"]
