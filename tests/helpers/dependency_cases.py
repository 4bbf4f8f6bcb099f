"""Sentences, settings and priors of the tests of dependency models."""

from collections import Counter

import numpy as np
from estimators import all_sweeps

from sklearn_cvb import CVBDMV, EMDMV, VBDMV, GibbsDMV, Valence

TAGS = [[0, 1, 2, 1], [1, 2], [2, 0, 1], [0, 1], [1, 2, 0, 1, 0], [1]]
X = [[f"t{tag}" for tag in sentence] for sentence in TAGS]
W = 3
ALPHA, ALPHA_STOP, ALPHA_BACKOFF = 0.3, 0.7, 0.9
FORMS = [(2, None), (1, "direction"), (2, "direction"), (2, "head")]
# What is known of arcs, as one table of them: some of a side, some of both, one of both kinds.
ARC_WEIGHTS = {
    ("t1", "t0"): 5.0,
    ("t1", "t2"): 3.0,
    ("t0", "t1"): 0.01,
    ("t0", "t0", "left"): 0.1,
    ("t2", "t1", "right"): 20.0,
    ("t1", "t0", "right"): 0.2,
    ("t1", "t1", "left"): 7.0,
    (None, "t1"): 4.0,
    (None, "t2"): 0.05,
}
CLASSES = [EMDMV, VBDMV, CVBDMV, GibbsDMV]


def settings_of(form, kind=EMDMV):
    n_valences, backoff = form
    return {
        "valence": Valence(
            n_valences == 2, backoff=backoff, alpha_backoff=ALPHA_BACKOFF, alpha_stop=ALPHA_STOP
        ),
        "handle_unknown": "error",
        "alpha": ALPHA,
        **all_sweeps(kind),
    }


def prior_of(tables):
    n, widths = tables.n_types, tables.rows()
    n_arc_rows = 2 * n * tables.n_valences
    values = [ALPHA] * (n_arc_rows + 1) + [ALPHA_STOP] * (4 * n)
    if tables.backoff:
        values += [ALPHA_BACKOFF] * n_arc_rows
    values += [ALPHA] * (len(widths) - len(values))
    return np.repeat(values, widths)


def visits_counted(monkeypatch):
    """How often samplers visit each combination of trees, counted from now on."""
    from sklearn_cvb.dependency import model as binding

    seen, draw = Counter(), binding.draw_sweep

    def noting(sentences, *given):
        result = draw(sentences, *given)
        parts = np.split(result[0].heads, sentences.starts[1:-1])
        seen[tuple(tuple(part.tolist()) for part in parts)] += 1
        return result

    monkeypatch.setattr(binding, "draw_sweep", noting)
    return seen
