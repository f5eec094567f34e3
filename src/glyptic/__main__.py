"""`python -m glyptic` is the `glyptic` command."""

import sys

from glyptic.cli import main

sys.exit(main())
