"""The studio: the pages of `look`, live, from a small server that listens on this machine alone unless it is told otherwise.

settings   what a studio is started with, and its bounds
wishes     what a page may ask for: every word of a request checked
folders    the folder that was opened, and nothing outside of it
worker     the process that builds pages and proves, under limits of memory
processes  such processes from the side of the server: asked, waited for until a deadline, killed
jobs       proofs: a few at once, a few waiting, cancelled when nobody looks any more
guard      who may ask: token, Host, Origin; what every answer says to the browser
app        the routes
serving    the socket, the signals, the end
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.look.studio.serving import serve as serve
    from glyptic.look.studio.settings import Settings as Settings
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
