"""Look inside: pages that compute, the studio, LaTeX.

pages    one self-contained HTML file, put together
kinds    which value is shown by which function
values   a value -> the data of its view
page     the page's own parts: shell, style, words, engine, one file a view
studio   the same pages, live, on a server of one's own
latex    fragments to paste into a paper
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.look.kinds import page as page
    from glyptic.look.kinds import register as register
    from glyptic.look.pages import Page as Page
    from glyptic.look.pages import View as View
    from glyptic.look.pages import pack as pack
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
