"""Files that nobody vouches for are read within bounds, or refused in one sentence that names them."""

import json
import os
from pathlib import Path

import pytest

from glyptic.errors import FileError
from glyptic.files.keeping import KeptFile
from glyptic.files.reading import MOST_DEPTH, MOST_DIGITS, parse_json, read_bytes, read_json


def said(call):
    with pytest.raises(FileError) as told:
        call()
    text = str(told.value)
    assert text.isprintable() and text.endswith(".") and len(text) < 700
    return text


HOSTILE = {
    "empty": b"",
    "cut short": b'{"a": [1, 2',
    "not UTF-8": b'{"a": "\xff"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"a": 1}',
    "nested lists": b"[" * 50_000 + b"]" * 50_000,
    "nested objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "nested without end": b"[" * 1_000_000,
    "one level too many": b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1),
    "a whole number of 6,000 digits": b"[" + b"9" * 6000 + b"]",
    "a fraction of 6,000 digits": b"[0." + b"9" * 6000 + b"]",
    "a number beyond floats": b"[1e999]",
    "NaN": b"[NaN]",
    "Infinity": b"[-Infinity]",
    "a name twice": b'{"a": 1, "a": 2}',
    "half a character": rb'["\ud800"]',
    "two values": b"{} {}",
    "a NUL": b"[\0]",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_json_is_one_sentence(name, tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(HOSTILE[name])
    text = said(lambda: read_json(path))
    assert text.startswith(f"{path} is not a JSON file: ")


def test_what_is_within_the_bounds_is_read():
    deep = b"[" * MOST_DEPTH + b"]" * MOST_DEPTH
    assert json.dumps(parse_json(deep, "x")).encode() == deep
    brackets_in_texts = json.dumps(["[" * 2000, '"[\\', {"{": "\\\\["}]).encode()
    assert parse_json(brackets_in_texts, "x") == json.loads(brackets_in_texts)
    assert parse_json(b"9" * MOST_DIGITS, "x") == int("9" * MOST_DIGITS)
    assert parse_json(rb'["\ud83d\ude00"]', "x") == ["\U0001f600"]
    assert str(parse_json(b"[NaN, -Infinity]", "x", nan=True)) == "[nan, -inf]"


def test_only_regular_files_of_a_bounded_size_are_read(tmp_path):
    fifo, large, endless = tmp_path / "fifo", tmp_path / "large", Path("/dev/zero")
    os.mkfifo(fifo)
    large.write_bytes(b"12345")
    for path in (fifo, endless):
        assert said(lambda path=path: read_bytes(path)) == f"cannot read {path}: it is not a regular file."
        assert said(lambda path=path: read_json(path, what="a map")) == f"{path} is not a map: it is not a regular file."
    assert said(lambda: read_bytes(large, most=4)) == f"cannot read {large}: it has more than 4 bytes, and no more are read."
    assert read_bytes(large, most=5) == b"12345"
    os.truncate(large, 1 << 40)  # a terabyte of holes takes no room on the disk
    assert "has more than" in said(lambda: read_bytes(large))


def test_paths_that_cannot_be_opened_are_one_sentence(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (tmp_path, tmp_path / "nothing", loop, tmp_path / ("a" * 3000), Path("a\0b"), Path("a\x1b[2J\nb")):
        assert said(lambda path=path: read_bytes(path)).startswith("cannot read ")


ABOUT = {"kind": "squares", "version": 1}


def kept(path, code="1", about=ABOUT):
    return KeptFile(path, "the squares", about, code=code)


def asked(file, name, question):
    return file.find(name, lambda: question, lambda row: row["is"])


def test_a_kept_row_counts_for_its_very_question(tmp_path):
    path = tmp_path / "rows.json"
    first = kept(path)
    first.enter("a", "2", {"is": 4})
    first.enter("b", "3", {"is": 9})
    first.enter("c", "", {"is": 0})  # of a question without a fingerprint nothing is kept
    first.enter("d", "4", {"was": 16})  # by another version
    again = kept(path)
    assert [asked(again, *one) for one in (("a", "2"), ("b", "3"), ("a", "3"), ("c", ""), ("d", "4"), ("e", "5"))] == [
        *(4, 9, None, None, None, None),
    ]


def test_a_kept_file_of_others_is_refused_and_stays(tmp_path):
    path = tmp_path / "rows.json"
    kept(path).enter("a", "2", {"is": 4})
    whole = path.read_text()
    ours = f"{path} is not a file of the squares, as this version writes it; delete it, or name another."
    edited = f"{path} was edited, or written by another Glyptic; delete it, or name another."
    assert said(lambda: kept(path, about={**ABOUT, "version": 2})) == ours
    assert said(lambda: kept(path, about={"kind": "cubes", "version": 1})) == ours
    assert said(lambda: kept(path, code="2")) == edited
    assert path.read_text() == whole
    for text in (whole.replace("4", "5"), json.dumps({**json.loads(whole), "digest": "0"})):
        path.write_text(text)
        assert said(lambda: kept(path)) == said(lambda: kept(path, code=None)) == edited
    unsealed = {name: part for name, part in json.loads(whole).items() if name != "digest"}
    for content in (unsealed, [], {}, "x", {**ABOUT, "rows": {"a": 1}}, {**ABOUT, "rows": {"a": {}}}, {**ABOUT, "rows": []}):
        path.write_text(json.dumps(content))
        assert "delete it, or name another." in said(lambda: kept(path))
        if content != unsealed:
            assert "delete it, or name another." in said(lambda: kept(path, code=None))
