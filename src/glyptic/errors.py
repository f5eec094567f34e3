"""Every error that a user can cause: one sentence that names the thing, the place and the remedy.

The command line prints the sentence and exits with status 2; nothing here ever needs a traceback to be understood.
"""


class GlypticError(Exception):
    """Base of all errors that describe bad input rather than a fault of Glyptic."""


class FormatError(GlypticError, ValueError):
    """A number format that does not exist, or that an engine refuses; says why."""


class ModelError(GlypticError, ValueError):
    """A transformer whose parts do not fit together; names the part."""


class InputError(GlypticError, ValueError):
    """An input that the transformer cannot read: an unknown token, too long, or empty."""


class FileError(GlypticError, ValueError):
    """A file that is missing, damaged, or not what it says it is."""


class MissingExtra(GlypticError, ImportError):
    """An optional dependency that is not installed; says which extra brings it (`glyptic.extras`)."""
