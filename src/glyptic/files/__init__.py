"""Files: written whole or not at all, and read as data that may be hostile.

reading   regular files of a bounded size; JSON of bounded depth and digits
writing   a file beside its place, synced, then renamed; lines added to one; what killed writers have left
folders   a folder of files that belong together, exchanged in one step; what is not ours stays
keeping   rows that are kept as they come, and count again only for the very question that they answer

Every room reads and writes through these functions, so that a full disk, a failure or a kill leaves what was there before, or
what was to be there, and no pipe or device is waited for.
"""

from glyptic.files.folders import Content, check_folder, recover, says, write_folder
from glyptic.files.keeping import KeptFile, sealed
from glyptic.files.reading import MOST_BYTES, MOST_DIGITS, MOST_JSON, parse_json, quoted_path, read_bytes, read_json
from glyptic.files.writing import MARK, append, make_folder, sentences, take_lock, taken, write_together, write_whole

__all__ = [
    "MARK",
    "MOST_BYTES",
    "MOST_DIGITS",
    "MOST_JSON",
    "Content",
    "KeptFile",
    "append",
    "check_folder",
    "make_folder",
    "parse_json",
    "quoted_path",
    "read_bytes",
    "read_json",
    "recover",
    "says",
    "sealed",
    "sentences",
    "take_lock",
    "taken",
    "write_folder",
    "write_together",
    "write_whole",
]
