"""Checks a claim about transformers in finite precision, and the verdict on it, from their definitions alone.

    python check.py FOLDER            the claim in FOLDER/claim.json, the verdict there or in FOLDER/verdict.json, and all else
                                      that an exported folder holds (its own unless said)
    python check.py FILE.json         a file with both
    --limit N                         walk through at most N elements (20,000 unless said); larger claims are sampled

It says line by line what it has verified, what it could only try, and what it takes on trust. Exit status: 0 if nothing
contradicts the verdict, 1 if something does, 2 if the input cannot be read (one sentence says why).

The program is in the folder checker/, one idea a file: Python's standard library, no package, no floating-point number. What a
claim means is all in five of them, to be read first and in this order: numbers, transformer, meaning, elements, words. Of the
others, reading, models, subjects and claims refuse files that are not what they should be; report, examples and verdict
compare the verdict with the claim; question, arithmetic, comparison, assertion and files compare what lies beside it; command
prints.
"""

import sys

if __name__ == "__main__":
    if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
        del sys.path[0]  # this folder: a file in it that is called json.py is not what is meant by json
    import os
    from importlib.util import module_from_spec, spec_from_file_location

    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "checker")
    odd = [name for name in os.listdir(folder) if not name.endswith(".py") and name != "__pycache__"]
    if odd:
        print(f"check.py: {odd[0]!a} in the folder checker is no program that can be read: take it away.", file=sys.stderr)
        sys.exit(2)
    sys.dont_write_bytecode = True  # the folder stays as it is,
    sys.pycache_prefix = os.devnull  # and what runs is the text that can be read, not what was compiled by someone
    spec = spec_from_file_location("checker", os.path.join(folder, "__init__.py"))
    assert spec is not None and spec.loader is not None
    sys.modules["checker"] = module_from_spec(spec)  # from here, and from nowhere else on the path
    spec.loader.exec_module(sys.modules["checker"])
    from checker.command import main

    sys.exit(main(sys.argv[1:]))
