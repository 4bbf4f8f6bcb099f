"""Of sequences in memory nothing of stores and workers runs but hooks that ask where X is."""

import sys
import warnings

import pytest
from house_rules import ROOT

from sklearn_cvb.learning.compile_cases import SITUATIONS

# What public classes are put together from, which hands on what is in memory; and what it asks.
_ASK = {"scale.hmm", "scale.on_workers", "scale.pcfg", "scale.places"}


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_plain_fit_runs_nothing_of_stores_and_workers(name):
    situation, ran = next(iter(SITUATIONS[name].values())), set()

    def note(frame, event, argument):
        module = frame.f_code.co_filename.removeprefix(f"{ROOT}/").removesuffix(".py")
        if event == "call" and module.startswith(("scale/", "store/")):
            ran.add(module.replace("/", "."))

    # What the class itself imports is imported.
    model, before = situation.unfitted(), sys.getprofile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.setprofile(note)
        try:
            model.fit(situation.X, situation.y)
            for method in ("predict", "predict_proba", "score_samples", "score"):
                if hasattr(model, method):
                    getattr(model, method)(situation.new)
        finally:
            sys.setprofile(before)
    assert ran - _ASK == set()
