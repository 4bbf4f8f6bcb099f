"""Sweeps of EM, VB and CVB against plain re-statements that write out every path."""

import numpy as np
import pytest
from chain.numbers import restatement
from chain.numbers.problems import EMISSIONS, LAWS, TOPOLOGIES, numbers, start, transitions

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, Durations, Transitions, Windows

# Few and long, and many and short.
LENGTHS = {"few": (5, 3, 4), "many": (1, 2, 1, 1, 2, 3, 1) * 6}
CASES = [
    *((name, "full", False, missing, "few") for name in EMISSIONS for missing in ("", "steps")),
    *((name, "full", True, "values", "few") for name in EMISSIONS),
    *(("diag", topology, False, "", size) for topology in TOPOLOGIES for size in LENGTHS),
    *(("full", topology, True, "steps", "many") for topology in ("left-right", "table", "full")),
]
every_case = pytest.mark.parametrize(
    ("name", "topology", "has_end", "missing", "size"), CASES, ids=lambda value: str(value)
)
SWEEPS = 3


def problem(kind, name, topology, has_end, missing, size, start_alpha=None, **settings):
    """An unfitted model, its series and where it starts."""
    lengths = LENGTHS[size]
    model = kind(
        2,
        emission=EMISSIONS[name],
        transitions=transitions(topology, end_state=has_end, start_alpha=start_alpha),
        init=start(lengths, 2),
        max_iter=SWEEPS,
        tol=0,
        **settings,
    )
    return model, numbers(name, lengths, missing, topology=topology), lengths


def assert_counts(model, counts):
    """Fitted counts are the plain ones."""
    atol = 1e-8
    np.testing.assert_allclose(model.counts_.start, counts.start, atol=atol)
    found = model.counts_.transition.reshape(counts.transition[:, :-1].shape)
    np.testing.assert_allclose(found, counts.transition[:, :-1], atol=atol)
    np.testing.assert_allclose(model.counts_.emission.T, counts.statistics, rtol=1e-8, atol=1e-7)
    if model.transitions.end_state:
        np.testing.assert_allclose(model.end_counts_, counts.transition[:, -1], atol=atol)


@pytest.mark.many(usual=19)
@every_case
def test_em(name, topology, has_end, missing, size):
    model, series, _ = problem(EMHMM, name, topology, has_end, missing, size)
    setting = restatement.setting_of(model, series)
    history, counts = restatement.em_sweeps(setting, model.init, SWEEPS)
    model.fit(series)
    np.testing.assert_allclose(model.history_, history, rtol=1e-9)
    assert_counts(model, counts)


@pytest.mark.many(usual=19)
@every_case
def test_vb(name, topology, has_end, missing, size):
    model, series, _ = problem(VBHMM, name, topology, has_end, missing, size, alpha=0.7)
    setting = restatement.setting_of(model, series)
    history, counts = restatement.vb_sweeps(setting, model.init, SWEEPS)
    model.fit(series)
    np.testing.assert_allclose(model.history_, history, rtol=1e-9)
    assert_counts(model, counts)


def cvb_deviation(model, series, block_length=None):
    """The largest difference between a fit by CVB and its restatement."""
    setting = restatement.setting_of(model, series)
    plain = restatement.cvb_sweeps(setting, model.init, SWEEPS, block_length)
    history, posteriors, counts = plain
    update = "sequence" if block_length is None else Windows(block_length)
    fitted = model.set_params(update=update, warm_start=True).fit(series)
    found = np.concatenate(list(fitted.training_posteriors()))
    differences = [
        np.abs(np.array(history) - fitted.history_),
        np.abs(np.concatenate(posteriors) - found),
        np.abs(counts.start - fitted.counts_.start),
        np.abs(counts.transition[:, :-1].ravel() - fitted.counts_.transition.ravel()),
    ]
    return max(table.max() for table in differences)


@pytest.mark.many(usual=19)
@every_case
def test_cvb(name, topology, has_end, missing, size):
    model, series, _ = problem(
        CVBHMM,
        name,
        topology,
        has_end,
        missing,
        size,
        alpha=0.4,
        start_alpha=0.9,
    )
    assert cvb_deviation(model, series) < 1e-8


@pytest.mark.parametrize("topology", ["full", "left-right", "independent", "contexts", "histogram"])
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_starts_have_cells_of_their_own(kind, topology):
    settings = {"alpha": 0.4, "start_alpha": np.array([1.7, 0.3])}
    model, series, _ = problem(kind, "diag", topology, False, "steps", "few", **settings)
    if kind is CVBHMM:
        assert cvb_deviation(model, series) < 1e-8
        return
    sweeps = restatement.em_sweeps if kind is EMHMM else restatement.vb_sweeps
    history, counts = sweeps(restatement.setting_of(model, series), model.init, SWEEPS)
    model.fit(series)
    assert_counts(model, counts)
    if kind is VBHMM:
        np.testing.assert_allclose(model.history_, history, rtol=1e-9)


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("name", EMISSIONS)
@pytest.mark.parametrize(("has_end", "missing"), [(False, "values"), (True, "steps")])
def test_cvb_by_windows(name, has_end, missing):
    model, series, _ = problem(CVBHMM, name, "full", has_end, missing, "few", alpha=0.4)
    assert cvb_deviation(model, series, block_length=2) < 1e-8


RING = np.array([[True, True, False], [False, True, True], [True, False, False]])


@pytest.mark.parametrize("topology", ["left-right", RING], ids=["left-right", "ring"])
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_visits_keep_to_a_topology(kind, topology):
    """Of three states: those between have one that follows, and one that does not."""
    lengths, series = (5, 3, 4), numbers("diag", (5, 3, 4), "steps")
    lasting = Transitions(topology, durations=Durations(LAWS["histogram"], longest=3))
    settings = {} if kind is EMHMM else {"alpha": 0.4}
    model = kind(3, emission=EMISSIONS["diag"], transitions=lasting, max_iter=SWEEPS, **settings)
    model.set_params(init=start(lengths, 3), tol=0)
    if kind is CVBHMM:
        assert cvb_deviation(model, series) < 1e-8
        assert cvb_deviation(model, series, block_length=2) < 1e-8
        return
    sweeps = restatement.em_sweeps if kind is EMHMM else restatement.vb_sweeps
    history, counts = sweeps(restatement.setting_of(model, series), model.init, SWEEPS)
    model.fit(series)
    np.testing.assert_allclose(model.history_, history, rtol=1e-9)
    assert_counts(model, counts)


@pytest.mark.parametrize("topology", ["left-right", "constant", "table", "contexts", *LAWS])
def test_cvb_by_windows_keeps_to_a_topology(topology):
    has_end = topology not in ("contexts", *LAWS)
    model, series, _ = problem(CVBHMM, "diag", topology, has_end, "", "few", alpha=0.4)
    assert cvb_deviation(model, series, block_length=2) < 1e-8
