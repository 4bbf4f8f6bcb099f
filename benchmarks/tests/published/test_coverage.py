"""The coverage of credible intervals: VB's are too narrow, those of samples are right."""

import numpy as np

from benchmarks.published.coverage import coverage, table


def test_samples_cover_what_variational_intervals_miss():
    methods = ("VB", "CVB sequence", "Gibbs token")
    found = coverage(40, 0.1, levels=(0.9,), methods=methods)
    inside = {name: np.mean(figures["inside"]) for name, figures in found.items()}
    assert inside["VB"] < 0.8
    assert 0.85 < inside["Gibbs token"] < 0.95
    assert inside["CVB sequence"] < 0.8
    assert [row[0] for row in table(found, (0.9,)).rows] == list(methods)
