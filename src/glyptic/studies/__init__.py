"""Questions asked of many formats or lengths: the least precision of a construction, a claim over a grid of formats; `pictures`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.studies.precision import LeastPrecision as LeastPrecision
    from glyptic.studies.precision import least_precision as least_precision
    from glyptic.studies.sweeps import Sweep as Sweep
    from glyptic.studies.sweeps import sweep as sweep
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
