"""The built site: ``python -m sphinx -W -n doc doc/_build``; SKLEARN_CVB_SITE names another folder.

Its tests are skipped where there is none.
"""

import os
import shutil
from pathlib import Path

import pytest

DEFAULT = Path(__file__).resolve().parents[2] / "doc" / "_build"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def site():
    """The folder of the site."""
    folder = Path(os.environ.get("SKLEARN_CVB_SITE", DEFAULT)).resolve()
    if not (folder / "index.html").is_file():
        pytest.skip(f"no site in {folder}: build it, or name one by SKLEARN_CVB_SITE")
    return folder


@pytest.fixture(scope="session")
def browser(site):
    """The system's chromium, driven by Playwright, which brings none."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as driver:
        # As root in a container chromium has no sandbox to start in.
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()
