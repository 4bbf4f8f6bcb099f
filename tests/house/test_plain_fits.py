"""A plain fit, predict or score in memory runs nothing of what hangs above the line."""

import sys
import threading
from pathlib import Path

import pytest
from house_rules import ROOT, wing_of

import sklearn_cvb
from sklearn_cvb.compilation.cases import SITUATIONS

# What public classes are put together from: hooks, which hand on what is in memory, and note how
# much a fit has seen.
_HOOKS = {
    *("scale.hmm", "scale.on_workers", "scale.pcfg", "scale.places", "scale.saving"),
    *("streams.in_batches", "streams.seen"),
}


def _modules_run_by(call):
    """The package's modules of which functions run, in any thread."""
    files, main = set(), sys.getprofile()

    def see(frame, event, _argument):
        if event == "call":
            files.add(frame.f_code.co_filename)

    threading.setprofile(see)
    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(main)
        threading.setprofile(main)
    own = [Path(file) for file in files if Path(file).is_relative_to(ROOT)]
    parts = [file.relative_to(ROOT).with_suffix("").parts for file in own]
    return {".".join(part[:-1] if part[-1] == "__init__" else part) for part in parts}


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("name", sorted(SITUATIONS))
def test_nothing_above_the_line_runs(name):
    assert hasattr(sklearn_cvb, name)
    for situation in list(SITUATIONS[name].values())[:3]:
        # What is imported by the first is not run by the second.
        situation.fit().predict(situation.X_new)
        model = situation.unfitted()

        def plain(situation=situation, model=model):
            model.fit(situation.X, situation.y)
            model.predict(situation.X_new)
            model.score(situation.X_new)

        above = {
            module for module in _modules_run_by(plain) if wing_of(module) not in ("core", "public")
        }
        assert above - _HOOKS == set()
