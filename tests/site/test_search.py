"""Search on the built site: what newcomers type finds the page that answers it first.

It takes a site that was built in an empty folder: Sphinx forgets what the index has of pages that
it does not write again.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.pages

ANSWERS = {
    "install": "install",
    "which class": "which_class",
    "sensor": "which_class",
    "change point": "which_class",
    "anomaly": "which_class",
    "classify sequences": "which_class",
    "cluster sequences": "which_class",
    "pandas": "how_to/data_frames",
    "data frame": "how_to/data_frames",
    "forecast": "forecasts",
    "how many states": "how_many_states",
    "is my model any good": "forecasts",
    "how sure": "uncertainty",
    "standard errors": "uncertainty",
    "hmmlearn": "coming_from_hmmlearn",
    "depmixS4": "coming_from_r",
    "what do you know": "published/knowledge",
    "missing values": "numbers",
    "gap": "how_to/gaps",
    "irregular": "how_to/gaps",
    "missing rows": "how_to/gaps",
    "GMM": "numbers",
    "docker": "how_to/start_in_a_container",
    "sample_weight": "how_to/weigh_sequences",
    "activity recognition": "how_to/smooth_a_classifier",
    "smooth predictions": "how_to/smooth_a_classifier",
    "smoother": "how_to/smooth_a_classifier",
    "bull bear": "auto_tutorials/plot_3b_regimes_without_looking_ahead",
    "label switching": "auto_tutorials/plot_3b_regimes_without_looking_ahead",
    "causal": "auto_tutorials/plot_3b_regimes_without_looking_ahead",
}


def test_the_answer_is_found_first(site):
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine")
    script = Path(__file__).with_name("search.js")
    command = [node, str(script), str(site), *ANSWERS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first = [pages.split(" ")[0] for pages in done.stdout.splitlines()]
    assert dict(zip(ANSWERS, first, strict=True)) == ANSWERS, "build the site in an empty folder"
