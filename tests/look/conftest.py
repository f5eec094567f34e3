"""The browser is one for each file of tests."""

from tests.look.chromium import browser

__all__ = ["browser"]
