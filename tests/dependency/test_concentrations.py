"""Learned concentrations: one step a sweep, against the formula by hand."""

import numpy as np
import pytest
from estimators import all_sweeps

from sklearn_cvb import CVBDMV, VBDMV, GammaPrior, GibbsDMV, Valence
from sklearn_cvb.dependency import inference
from sklearn_cvb.dependency.model import log_absence
from sklearn_cvb.dependency.parameters import cells_from
from sklearn_cvb.learning import dirichlet

RNG = np.random.default_rng(0)
X = [[f"t{tag}" for tag in RNG.integers(4, size=n)] for n in (3, 5, 2, 6, 4, 4, 3, 5)]
W = 4
CUT = (2 * W + 1) * W
SETTINGS = {"handle_unknown": "error", "random_state": 0, "tol": 0}


def step(value, cells, present, parts, how=dirichlet.fixed_point):
    """eq. 29 over rows of attachments (0), of decisions (1), or both."""
    tables = []
    for part in parts:
        rows = (cells[:CUT].reshape(-1, W), cells[CUT:].reshape(-1, 2))[part]
        here = (present[0][:CUT], present[0][CUT:])[part]
        totals = (present[1][: 2 * W + 1], present[1][2 * W + 1 :])[part]
        tables.append((rows.ravel(), here, rows.sum(axis=1), totals, rows.shape[1]))
    return how(value, tables, 1.0, 1.0)


ONES = np.ones(CUT + 8 * W), np.ones(6 * W + 1)
TOO_FEW = "ignore:.* too few to learn"


@pytest.mark.parametrize("kind", [VBDMV, CVBDMV, GibbsDMV])
def test_nothing_is_learned_at_first_where_the_start_is_drawn(kind):
    settings = {"handle_unknown": "error", "random_state": 0, "max_iter": 20, **all_sweeps(kind)}
    settings["init"] = "random"
    with pytest.warns(UserWarning, match="20 sweeps are too few to learn a conc"):
        model = kind(alpha="auto", valence=Valence(alpha_stop="auto"), **settings).fit(X)
    assert (model.alpha_, model.alpha_stop_) == (0.1, 0.1)
    fixed = kind(alpha=0.1, **settings).fit(X)
    assert np.array_equal(fixed.attachprob_, model.attachprob_)


@pytest.mark.filterwarnings(TOO_FEW)
@pytest.mark.parametrize("stop", ["auto", None, 0.7])
def test_vb_takes_one_step(stop):
    settings = {"alpha": "auto", "valence": Valence(alpha_stop=stop), **SETTINGS}
    before = VBDMV(max_iter=20, **settings).fit(X)
    after = VBDMV(max_iter=21, **settings).fit(X)
    cells = cells_from(before.counts_)
    attach = step(0.1, cells, ONES, (0,), dirichlet.damped_fixed_point)
    decide = step(0.1, cells, ONES, (1,), dirichlet.damped_fixed_point)
    both = step(0.1, cells, ONES, (0, 1), dirichlet.damped_fixed_point)
    expected = {"auto": (attach, decide), None: (both, both), 0.7: (attach, 0.7)}[stop]
    assert (after.alpha_, after.alpha_stop_) == pytest.approx(expected, rel=1e-9)
    assert after.alpha_ != 0.1


def test_presence_of_all_sentences():
    model = CVBDMV(max_iter=3, **SETTINGS)
    problem = model.fit(X)._read(X, None).problem
    weights = np.concatenate([model.attachprob_.ravel(), model.rootprob_])
    stop = model.stopprob_.ravel()
    weights = np.concatenate([weights, np.column_stack([stop, 1 - stop]).ravel()])
    _, _, shares = inference.expectation(weights, problem.sentences, keeps_shares=True)
    absent = [np.ones(CUT + 8 * W), np.ones(6 * W + 1)]
    for sentence in X:
        tags = np.array([model._learned.words.index[tag] for tag in sentence])
        starts = np.array([0, len(tags)])
        one = problem.sentences._replace(
            token=tags, starts=starts, head=np.full(len(tags), -1), n_types=W
        )
        cells = inference.expectation(weights, one)[0]
        rows = np.concatenate(
            [cells[:CUT].reshape(-1, W).sum(axis=1), cells[CUT:].reshape(-1, 2).sum(axis=1)]
        )
        absent[0] *= 1 - np.minimum(cells, 1)
        absent[1] *= 1 - np.minimum(rows, 1)
    absence = log_absence(shares, problem.sentences, problem.layout)
    found = [-np.expm1(logs) for logs in absence]
    np.testing.assert_allclose(found[0], 1 - absent[0], atol=1e-12)
    np.testing.assert_allclose(found[1], 1 - absent[1], atol=1e-12)


@pytest.mark.filterwarnings(TOO_FEW)
def test_cvb_takes_one_step_with_presence(monkeypatch):
    from sklearn_cvb.dependency import model as binding

    noted = []

    def noting(*given):
        logs = log_absence(*given)
        noted.append([-np.expm1(part) for part in logs])
        return logs

    monkeypatch.setattr(binding, "log_absence", noting)
    settings = {"alpha": "auto", "valence": Valence(alpha_stop="auto"), **SETTINGS}
    before = CVBDMV(max_iter=20, **settings).fit(X)
    assert not noted
    after = CVBDMV(max_iter=21, **settings).fit(X)
    cells = cells_from(before.counts_)
    expected = [step(0.1, cells, noted[0], (part,)) for part in (0, 1)]
    assert (after.alpha_, after.alpha_stop_) == pytest.approx(expected, rel=1e-9)


def test_the_bound_has_the_density_of_what_is_learned():
    """Beside the same sweep with both values given."""
    prior = GammaPrior(2.0, 3.0)
    settings = {"valence": Valence(alpha_stop=prior), "alpha": prior, **SETTINGS}
    learned = VBDMV(max_iter=21, **settings).fit(X)
    given = VBDMV(max_iter=20, warm_start=True, **settings).fit(X)
    values = learned.alpha_, learned.alpha_stop_
    given.set_params(alpha=values[0], valence=Valence(alpha_stop=values[1]), max_iter=1).fit(X)
    density = sum(dirichlet.log_gamma_prior(value, 2.0, 3.0) for value in values)
    assert learned.history_[-1] - given.history_[-1] == pytest.approx(density, abs=1e-9)


def test_the_bound_never_falls():
    model = VBDMV(alpha="auto", valence=Valence(alpha_stop="auto"), max_iter=60, **SETTINGS).fit(X)
    assert (np.diff(model.history_) > -1e-8).all()
    assert model.alpha_ != model.alpha_stop_


def test_a_warm_start_goes_on_from_what_is_learned():
    settings = {"alpha": "auto", "valence": Valence(alpha_stop=None), **SETTINGS}
    whole = VBDMV(max_iter=30, **settings).fit(X)
    model = VBDMV(max_iter=25, warm_start=True, **settings).fit(X)
    model.set_params(max_iter=5).fit(X)
    assert (model.alpha_, model.history_[-1]) == (whole.alpha_, whole.history_[-1])
    model.set_params(alpha=0.3).fit(X)
    assert (model.alpha_, model.alpha_stop_) == (0.3, 0.3)
