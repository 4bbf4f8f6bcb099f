"""Sentences, settings and priors of the tests of dependency models."""

import numpy as np
from estimators import all_sweeps

from sklearn_cvb import CVBDMV, EMDMV, VBDMV, GibbsDMV, Valence

TAGS = [[0, 1, 2, 1], [1, 2], [2, 0, 1], [0, 1], [1, 2, 0, 1, 0], [1]]
X = [[f"t{tag}" for tag in sentence] for sentence in TAGS]
W = 3
ALPHA, ALPHA_STOP, ALPHA_BACKOFF = 0.3, 0.7, 0.9
FORMS = [(2, None), (1, "direction"), (2, "direction"), (2, "head")]
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
    n_own = 2 * n * tables.n_valences
    values = [ALPHA] * (n_own + 1) + [ALPHA_STOP] * (4 * n)
    if tables.backoff:
        values += [ALPHA_BACKOFF] * n_own
    values += [ALPHA] * (len(widths) - len(values))
    return np.repeat(values, widths)
