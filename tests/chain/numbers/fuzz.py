"""Random fits on numbers: any setting on any data is finite and right, or is refused in words."""

import tempfile
import warnings
from typing import Any, NamedTuple

import numpy as np
from fuzz.looks import check_copies, check_looks, check_series_pictures
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    Durations,
    GibbsHMM,
    Transitions,
    Windows,
    write_numbers,
)
from sklearn_cvb.emissions import (
    AutoRegressive,
    Bernoulli,
    Categorical,
    Columns,
    Exponential,
    Gamma,
    Gaussian,
    Mixture,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Regression,
    StudentT,
    VonMises,
    ZeroInflated,
)

_KINDS = [
    *("full", "tied", "diag", "spherical", "bernoulli", "poisson", "categorical", "mixed"),
    *("gamma", "exponential", "negative binomial", "multinomial", "von mises", "gamma shapes"),
    *("mixture", "zero inflated", "regression", "autoregression", "student"),
]
_REAL = (
    *("full", "tied", "diag", "spherical", "mixture", "regression", "autoregression", "student"),
)
_LONGEST_ORDER = 5
_UPDATES = ["sequence", "sequence", Windows(1), Windows(3), Windows(50)]


class Draw(NamedTuple):
    model: Any
    series: list


def draw(index):
    """The draw of this number: an unfitted model and its series."""
    rng = np.random.default_rng([20, index])
    kind = rng.choice(_KINDS)
    n_columns = int(rng.choice([1, 1, 2, 3, 7]))
    n_columns = {"mixed": 4, "zero inflated": 1}.get(kind, n_columns + (kind == "regression"))
    lengths = _lengths(rng)
    if kind == "autoregression":
        # One series that is longer than any order: without such there is nothing to learn.
        lengths[0] += _LONGEST_ORDER
    series = [_series(kind, length, n_columns, rng) for length in lengths]
    _strain(kind, series, rng)
    _lose(kind, series, rng)
    n_states = int(rng.choice([1, 2, 2, 3, 6]))
    topology = _topology(n_states, rng)
    model_kind = [EMHMM, VBHMM, CVBHMM, GibbsHMM][rng.integers(4)]
    if kind == "gamma shapes":
        model_kind = EMHMM
    settings = {
        "emission": _emission(kind, n_columns, rng),
        "transitions": Transitions(
            topology,
            end_state=bool(rng.integers(2))
            and not (isinstance(topology, str) and topology == "independent"),
        ),
        "max_iter": int(rng.choice([1, 2, 8])),
        "random_state": int(rng.integers(100)),
        "init": rng.choice(["kmeans", "token"]),
    }
    if model_kind is EMHMM and index % 2 and kind in ("regression", "autoregression"):
        settings["emission"] = _with_shared_slopes(settings["emission"])
    if model_kind is CVBHMM:
        settings["update"] = _UPDATES[rng.integers(5)]
    if model_kind is not EMHMM:
        settings["alpha"] = [0.1, 1.0, 1e-6, "auto"][rng.integers(4)]
    is_full = isinstance(topology, str) and topology == "full"
    is_named = isinstance(topology, str)
    can_last = topology in ("full", "left-right") if is_named else np.triu(topology, 1).any()
    if can_last and index % 4 == 0 and n_states > 1:
        law = rng.choice(["histogram", "poisson", "negative_binomial"])
        lasting = Durations(str(law), longest=int(rng.choice([1, 3, 60])))
        settings["transitions"] = Transitions(topology, durations=lasting)
    if is_full and index % 2:
        is_pooled = index % 4 == 3 and model_kind is not EMHMM
        prior = "pooled" if is_pooled else "dirichlet"
        settings["transitions"] = Transitions(contexts=n_columns, prior=prior)
        # Of few contexts, and of more than there are steps.
        series = [
            np.column_stack([x, rng.integers(0, [2, 300][index % 3 // 2], len(x))]) for x in series
        ]
    return Draw(model_kind(n_states, **settings), series)


def _lengths(rng):
    way = rng.integers(5)
    if way == 0:
        return [1]
    if way == 1:
        return [int(rng.integers(2, 120))]
    if way == 2:
        return [1] * int(rng.integers(2, 9))
    return rng.integers(1, 25, rng.integers(2, 12)).tolist()


def _series(kind, length, n_columns, rng):
    state = rng.integers(0, 2, (length, 1))
    shape = (length, n_columns)
    if kind == "bernoulli":
        return (rng.random(shape) < 0.2 + 0.6 * state).astype(float)
    if kind in ("gamma", "exponential", "gamma shapes"):
        return rng.gamma(1.0, 0.1 + 9 * state, shape) + (0.0 if kind == "exponential" else 1e-3)
    if kind == "von mises":
        return rng.vonmises(3.0 * state + np.zeros(n_columns), rng.choice([0.1, 3.0, 1e4]))
    if kind == "multinomial":
        shares = rng.dirichlet(np.ones(n_columns), 2)
        return rng.multinomial(rng.integers(0, 9, length), shares[state[:, 0]]).astype(float)
    if kind in ("poisson", "negative binomial"):
        return rng.poisson(1 + 9 * state + np.zeros(n_columns)).astype(float)
    if kind == "zero inflated":
        return rng.poisson(1 + 9 * state).astype(float) * (rng.random(shape) < 0.5)
    if kind == "categorical":
        return rng.integers(0, 3, shape).astype(float)
    x = rng.normal(3 * state, 1.0, shape)
    if kind == "mixed":
        x[:, 1] = rng.random(length) < 0.5
        x[:, 2] = rng.poisson(4, length)
    return x


def _strain(kind, series, rng):
    """Constant and doubled columns, scales, offsets, outliers, rows that come again, in place."""
    way = rng.integers(10)
    is_real = kind in _REAL
    offset, factor = rng.choice([0.0, 1e6]), rng.choice([1e-8, 1.0, 1e8])
    for x in series:
        if way == 0:
            x[:] = x[0, 0] if kind != "mixed" else x[0]
        elif way == 1 and kind != "mixed":
            x[:, -1] = x[:, 0]
        elif way == 2 and is_real:
            x[:, 0] = 7.7
        elif way == 3 and is_real:
            x *= factor
        elif way == 4 and is_real:
            x += offset
        elif way == 5:
            x[:] = x[rng.integers(0, min(2, len(x)), len(x))]
    if way == 6 and is_real:
        series[0][0, 0] = rng.choice([1e150, -1e150, 1e30])
    of_counts = "poisson", "negative binomial"
    if way == 7 and kind in (*of_counts, "gamma", "exponential", "gamma shapes"):
        series[0][0, 0] = rng.choice([1e8 if kind == "negative binomial" else 1e15, 1e6])
    if way == 8 and is_real:
        for i, x in enumerate(series):
            x += 1e4 * i


def _lose(kind, series, rng):
    """Missing values, in place; at least one is left."""
    way, shown = rng.integers(6), series[0][0].copy()
    for x in series:
        if way == 0:
            x[rng.random(len(x)) < 0.4] = np.nan
        if way == 1 and kind == "multinomial":
            x[rng.random(len(x)) < 0.4] = np.nan
        elif way == 1:
            x[rng.random(x.shape) < 0.4] = np.nan
        elif way == 2 and x.shape[1] > 1 and kind != "multinomial":
            x[:, -1] = np.nan
    if way == 3 and len(series) > 1:
        series[1][:] = np.nan
    if np.isnan(series[0][0]).all():
        series[0][0] = shown


def _topology(n_states, rng):
    way = rng.integers(6)
    if way < 4:
        return ["full", "left-right", "constant", "independent"][way]
    if way == 4:
        return "full"
    table = rng.random((n_states, n_states)) < 0.5
    table[np.arange(n_states), rng.integers(0, n_states, n_states)] = True
    return table


def _emission(kind, n_columns, rng):
    is_given = bool(rng.integers(2))
    if kind == "bernoulli":
        return Bernoulli(ones_prior=0.3 if is_given else None)
    if kind == "poisson":
        return Poisson(shape_prior=0.3 if is_given else None)
    if kind == "gamma":
        return Gamma(
            shape=float(rng.choice([0.3, 2.0, 50.0])), shape_prior=0.3 if is_given else None
        )
    if kind == "gamma shapes":
        return Gamma(shape=None)
    if kind == "mixture":
        inner = Gaussian(str(rng.choice(["full", "diag", "spherical"])))
        return Mixture(inner, int(rng.integers(1, 4)), weight_prior=0.4 if is_given else None)
    if kind == "zero inflated":
        inner = Poisson() if rng.integers(2) else Gamma(shape=2.0)
        return ZeroInflated(inner, weight_prior=2.0 if is_given else None)
    if kind == "von mises":
        return VonMises(concentration_range=(0.1, 1e5)) if is_given else VonMises()
    if kind == "student":
        prior = Gaussian("diag", mean_precision_prior=0.5 if is_given else None)
        return StudentT(float(rng.choice([0.5, 4.0, 1e3])), prior)
    if kind == "exponential":
        return Exponential(rate_prior=0.3 if is_given else None)
    if kind == "negative binomial":
        return NegativeBinomial(size=rng.choice([0.2, 3.0]), size_prior=0.3 if is_given else None)
    if kind == "multinomial":
        return Multinomial(concentration_prior=0.3 if is_given else None)
    if kind == "categorical":
        return Categorical(n_categories=3, concentration_prior=0.5 if is_given else None)
    if kind == "regression":
        given = {"coefficient_precision_prior": 0.5 if is_given else None}
        return Regression([0], covariance_type=str(rng.choice(["full", "tied"])), **given)
    if kind == "autoregression":
        order = int(rng.choice([1, 1, 2, _LONGEST_ORDER]))
        given = {"covariance_prior": None if not is_given else np.eye(n_columns)}
        return AutoRegressive(order, covariance_type=str(rng.choice(["full", "tied"])), **given)
    if kind == "mixed":
        parts = [(Gaussian("diag"), [0]), (Bernoulli(), [1]), (Poisson(), [2])]
        return Columns([*parts, (Gaussian(rng.choice(["spherical", "diag"])), [3])])
    return Gaussian(str(kind), mean_precision_prior=0.5 if is_given else None)


def _with_shared_slopes(emission):
    """Lags from the second on share slopes, or all inputs; a prior allows no such."""
    if emission.coefficient_precision_prior is None and emission.covariance_prior is None:
        emission.set_params(switching=[1] if getattr(emission, "order", 0) > 1 else [])
    return emission


def problems(index):
    """What is wrong with a draw, in words; empty where all is right. No warning is raised."""
    model, series = draw(index)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Draws ask for few sweeps.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Series that no path explains are left out, and said to be.
        warnings.filterwarnings("ignore", message=".*have no path|.*no path")
        # Some draws have single steps alone, or a column without any value.
        warnings.filterwarnings("ignore", message="each of the .* single step|X has no value in")
        # Or series that are no longer than an order.
        warnings.filterwarnings("ignore", message=".*series have .* steps or fewer")
        model.fit(series)
        told = [*_unfinished(model), *_unread(model, series), *_fallen(model)]
        check_looks(model, draws=index % 4 == 0)
        if index % 4 == 2:
            check_series_pictures(model, series)
        check_copies(model, series, again=index % 3 == 0)
        if model.transitions.contexts is None and hasattr(model, "partial_fit") and index % 5 == 0:
            told += [*_other_on_disk(model, series), *_unfinished_batches(model, series)]
        return told


def _other_on_disk(model, series):
    """Whether a fit on a store finds other numbers, or answers otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        store = write_numbers([series[:1], series[1:]] if series[1:] else [series], folder + "/s")
        there = clone(model).fit(store)
        if not np.array_equal(there.history_, model.history_, equal_nan=True):
            yield f"a store gives {there.history_}, memory {model.history_}"
        if not np.allclose(there.score_samples(store), model.score_samples(series), rtol=1e-8):
            yield "likelihoods of a store are others"
        both = zip(there.predict(store), model.predict(series), strict=True)
        if not all(np.array_equal(one, other) for one, other in both):
            yield "paths of a store are others"


def _unfinished_batches(model, series):
    """What is wrong after two batches."""
    settings = {"alpha": 0.1} if isinstance(model.alpha, str) else {}
    stream = clone(model).set_params(**settings).partial_fit(series).partial_fit(series)
    yield from _unfinished(stream)
    counted = stream.counts_.start.sum() + stream.counts_.transition.sum()
    whole = 2 * sum(map(len, series))
    # With durations visits are counted.
    is_whole = stream.end_counts_ is None and model.transitions.durations is None
    is_whole = is_whole and not len(stream.unexplained_)
    if is_whole and abs(counted - whole) > 1e-6 * whole:
        yield f"{counted} steps are counted of {whole}"


def _numbers_in(value):
    if isinstance(value, dict):
        return [array for part in value.values() for array in _numbers_in(part)]
    if isinstance(value, list | tuple):
        return [array for part in value for array in _numbers_in(part)]
    array = np.asarray(value)
    return [array] if array.dtype.kind in "fiu" else []


def _unfinished(model):
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and value is not None:
            for array in _numbers_in(value):
                if not np.isfinite(array).all():
                    yield f"{name} is not finite"
    for name in ("startprob_", "transmat_"):
        table = getattr(model, name)
        totals = table.sum(axis=-1)
        if model.transitions.end_state and name == "transmat_":
            totals = totals + model.endprob_
        if not np.allclose(totals, 1.0):
            yield f"{name} does not sum to 1"


def _unread(model, series):
    lengths = [len(x) for x in series]
    explained = np.setdiff1d(np.arange(len(series)), model.unexplained_)
    has_contexts = model.transitions.contexts is not None
    emitted = [x[:, :-1] if has_contexts else x for x in series]
    residuals = model.pseudo_residuals(series, "past", random_state=0)
    if [table.shape for table in residuals] != [x.shape for x in emitted]:
        yield "pseudo-residuals are of another shape"
    if not np.isfinite(model.score_samples(series)[explained]).all():
        yield "score_samples is not finite"
    for table in (model.predict_proba(series), model.filter_proba(series)):
        for i in explained:
            if not np.allclose(np.sum(table[i], axis=1), 1.0):
                yield f"posteriors of {i} do not sum to 1"
    if [len(path) for path in model.predict(series)] != lengths:
        yield "paths have other lengths"
    kept, inputs, order = [series[i] for i in explained], None, 0
    if isinstance(model.emission, Regression):
        inputs = np.nan_to_num([[x[:1], x[-1:]] for x in kept])[:, :, 0, :1]
    else:
        # With ends not every length may be possible; one that was seen is.
        contexts = [series[explained[0]][:, -1]] if has_contexts else None
        drawn, _ = model.sample(2, lengths[explained[0]], random_state=0, contexts=contexts)
        if not np.isfinite(np.asarray(drawn, float)).all():
            yield "samples are not finite"
    if isinstance(model.emission, AutoRegressive):
        order = model.emission.order
    if has_contexts:
        return
    try:
        ahead = model.predict_next(kept, 2, n_draws=5, random_state=0, inputs=inputs)
    except ValueError as error:
        needs = any(len(x) < order or np.isnan(x[-order:]).any() for x in kept) and order
        if "cannot go on" in str(error) and model.transitions.end_state:
            return
        is_said = "that forecasts need" in str(error) or "go on from" in str(error)
        if not (needs and is_said):
            yield str(error)
        return
    if not all(np.isfinite(table).all() for table in ahead[:6]):
        yield "forecasts are not finite"


def _fallen(model):
    """Objectives that must not fall."""
    if type(model) not in (EMHMM, VBHMM) or model.get_params().get("alpha") == "auto":
        return
    falls = np.diff(model.history_) < -1e-7 * np.maximum(1.0, np.abs(model.history_[1:]))
    if falls.any() and not len(model.unexplained_):
        yield f"objective falls: {model.history_.tolist()}"
