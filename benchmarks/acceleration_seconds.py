"""Seconds of EM until the best optimum, plain and accelerated, beside hmmlearn and dynamax.

All begin with the same parameters and go up the same likelihood, without any prior, in 64 bits and
on one thread. A step is an M-step and an E-step, the first one from the expected counts under these
parameters: what a library does before and between (checks, whether it has converged) is not
counted, nor compiling.
"""

import gc
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.acceleration_sweeps import (
    CLOSE,
    overlapping,
    poisson,
    three_columns,
    variances,
)
from benchmarks.timing import sample, warmed_up
from sklearn_cvb import EMHMM, HMMParameters, Symbols
from sklearn_cvb.datasets import make_hmm_sequences
from sklearn_cvb.emissions import Gaussian
from sklearn_cvb.learning.algorithms import EM

PLAIN, ACCELERATED = "EM, plain", "EM, accelerated"
DEFAULT, SCALING, DYNAMAX = "hmmlearn", "hmmlearn, scaling", "dynamax"
# What is not what `HMMParameters` calls it.
_OURS = {"variances": "covariances"}
# At most this many sweeps of other libraries are timed.
_TIMED = 10


class Problem(NamedTuple):
    """Data, and where all libraries begin.

    Attributes
    ----------
    title : str
    X : list of ndarray
        Sequences: symbols, or of shape (length, n_columns).
    emission : object
        As `EMHMM` has it.
    startprob, transmat : ndarray
    emissions : dict
        "emissionprob"; "rates"; "means" and "variances" or, of several columns, "covariances".
    n_sweeps : int
        After how many our plain sweeps are taken to be at their end.
    """

    title: str
    X: list
    emission: object
    startprob: np.ndarray
    transmat: np.ndarray
    emissions: dict
    n_sweeps: int


class Steps(NamedTuple):
    """EM of one library.

    Attributes
    ----------
    start : callable
        ``start()``: back to where all begin, the expected counts under the first parameters.
    step : callable
        ``step()``: M-step and E-step; returns the log-likelihood of the parameters in between.
    """

    start: Callable
    step: Callable


def _symbols(title, n_sequences, n_states, n_symbols, random_state, n_sweeps):
    drawn = {"n_components": n_states, "n_symbols": n_symbols, "random_state": random_state}
    rng = np.random.default_rng(0)
    return Problem(
        title,
        make_hmm_sequences(n_sequences, **drawn)[0],
        Symbols(handle_unknown="error"),
        rng.dirichlet(np.full(n_states, 10.0)),
        rng.dirichlet(np.full(n_states, 10.0), n_states),
        {"emissionprob": rng.dirichlet(np.full(n_symbols, 10.0), n_states)},
        n_sweeps,
    )


def _series(title, X, emission, emissions, n_sweeps):
    transmat = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    return Problem(title, X, emission, np.full(3, 1 / 3), transmat, emissions, n_sweeps)


def _normal(title, X, n_sweeps):
    """A series of normal columns: first means are quantiles of each, covariances those of all."""
    x = X[0]
    means = np.quantile(x, [1 / 6, 1 / 2, 5 / 6], axis=0)
    # Where states differ in their spread alone, equal covariances would be a saddle.
    factors = np.array([0.5, 1.0, 1.5])
    if x.shape[1] == 1:
        emissions = {"means": means, "variances": factors[:, None] * x.var(axis=0)}
        return _series(title, X, Gaussian("diag"), emissions, n_sweeps)
    emissions = {"means": means, "covariances": factors[:, None, None] * np.cov(x.T)}
    return _series(title, X, Gaussian("full"), emissions, n_sweeps)


def problems():
    """All problems, by name."""
    counts = poisson(0)
    rates = np.quantile(counts[0], [1 / 6, 1 / 2, 5 / 6], axis=0) + 0.5
    return {
        "symbols-80": lambda: _symbols("symbols, 80 sequences, 3 states", 80, 3, 8, 0, 2000),
        "symbols-500": lambda: _symbols("symbols, 500 sequences, 4 states", 500, 4, 10, 1, 1500),
        "gaussian": lambda: _normal("Gaussian, 1.5 sd apart", overlapping(0), 300),
        "variances": lambda: _normal("Gaussian, variances differ", variances(0), 1000),
        "poisson": lambda: _series(
            "Poisson, means 2, 4, 7", counts, "poisson", {"rates": rates}, 300
        ),
        "columns": lambda: _normal("Gaussian, full, three columns", three_columns(0), 300),
    }


def _ours(problem, accelerate):
    given = problem.emissions
    ours = {_OURS.get(name, name): value for name, value in given.items()}
    known = given if "emissionprob" in given else {"emissions": ours}
    start = HMMParameters(startprob=problem.startprob, transmat=problem.transmat, **known)
    estimator = EMHMM(len(problem.startprob), emission=problem.emission, init=start)
    algorithm, rng = EM(accelerate), np.random.default_rng(0)
    model = estimator._model(estimator._read(problem.X, None))
    first = algorithm.start(model, rng)
    kept = [first]

    def begin():
        kept[0] = first

    def step():
        kept[0], value = algorithm.sweep(kept[0], model, rng)
        return value

    return Steps(begin, step)


def _hmmlearn(problem, implementation):
    from hmmlearn import hmm

    given, n_states = problem.emissions, len(problem.startprob)
    table = np.concatenate([np.reshape(x, (len(x), -1)) for x in problem.X])
    lengths = np.array([len(x) for x in problem.X])
    settings = {"implementation": implementation, "init_params": "", "n_iter": 1, "tol": -np.inf}
    if "emissionprob" in given:
        n_symbols = given["emissionprob"].shape[1]
        model = hmm.CategoricalHMM(n_states, n_features=n_symbols, **settings)
        emissions = {"emissionprob_": given["emissionprob"]}
    elif "rates" in given:
        model = hmm.PoissonHMM(n_states, **settings)
        emissions = {"lambdas_": given["rates"]}
    else:
        kind, name = ("diag", "variances") if "variances" in given else ("full", "covariances")
        model = hmm.GaussianHMM(
            n_states, covariance_type=kind, covars_prior=0.0, covars_weight=0.0, **settings
        )
        emissions = {"means_": given["means"], "covars_": given[name]}
    tables = {"startprob_": problem.startprob, "transmat_": problem.transmat, **emissions}

    def put():
        for name, value in tables.items():
            setattr(model, name, np.array(value))

    put()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table, lengths)
    put()
    first, _ = model._do_estep(table, lengths)
    kept = [first]

    def begin():
        put()
        kept[0] = first

    def step():
        model._do_mstep(kept[0])
        kept[0], value = model._do_estep(table, lengths)
        return value

    return Steps(begin, step)


def _dynamax(problem):
    import jax

    jax.config.update("jax_enable_x64", True)
    from dynamax import hidden_markov_model as hmm

    given, n_states = problem.emissions, len(problem.startprob)
    table = np.stack([np.reshape(x, (len(x), -1)) for x in problem.X])
    n_columns = table.shape[2]
    # Likelihood alone: its modes of Dirichlets want more than 1.
    flat = {f"{name}_concentration": 1.0 + 1e-10 for name in ("initial_probs", "transition_matrix")}
    if "emissionprob" in given:
        n_symbols = given["emissionprob"].shape[1]
        flat["emission_prior_concentration"] = 1.0 + 1e-10
        model = hmm.CategoricalHMM(n_states, n_columns, n_symbols, **flat)
        emissions = {"emission_probs": given["emissionprob"][:, None, :]}
    elif "rates" in given:
        flat |= {"emission_prior_concentration": 1.0, "emission_prior_rate": 1e-12}
        model = hmm.PoissonHMM(n_states, n_columns, **flat)
        emissions = {"emission_rates": given["rates"]}
    elif "variances" in given:
        # Their prior has a mode: it adds 1.5 to half of the counts.
        flat |= {"emission_prior_mean_concentration": 1e-12, "emission_prior_scale": 1e-12}
        flat["emission_prior_concentration"] = -1.5
        model = hmm.DiagonalGaussianHMM(n_states, n_columns, **flat)
        emissions = {
            "emission_means": given["means"],
            "emission_scale_diags": np.sqrt(given["variances"]),
        }
    else:
        flat |= {"emission_prior_concentration": 1e-12, "emission_prior_scale": 1e-12}
        flat["emission_prior_extra_df"] = 0.0
        model = hmm.GaussianHMM(n_states, n_columns, **flat)
        emissions = {
            "emission_means": given["means"],
            "emission_covariances": given["covariances"],
        }
    tables = {"initial_probs": problem.startprob, "transition_matrix": problem.transmat}
    tables = {name: jax.numpy.asarray(value) for name, value in {**tables, **emissions}.items()}
    first, properties = model.initialize(jax.random.PRNGKey(0), **tables)
    state = model.initialize_m_step_state(first, properties)
    observed = jax.numpy.asarray(table)

    def infer(parameters):
        statistics, values = jax.vmap(lambda one: model.e_step(parameters, one))(observed)
        return statistics, values.sum()

    @jax.jit
    def improve(parameters, statistics):
        parameters, _ = model.m_step(parameters, properties, statistics, state)
        if "covariances" in given:
            # Its prior cannot be flat: with the fewest degrees of freedom it counts for 2 d + 2.
            counts = statistics[2]["sum_w"].sum(axis=0)[:, None, None]
            covariances = parameters.emissions.covs * (1.0 + (2.0 * n_columns + 2.0) / counts)
            emissions = parameters.emissions._replace(covs=covariances)
            parameters = parameters._replace(emissions=emissions)
        return parameters, *infer(parameters)

    statistics, _ = jax.jit(infer)(first)
    kept = [first, statistics]

    def begin():
        kept[:] = first, statistics

    def step():
        *kept[:], value = jax.block_until_ready(improve(*kept))
        return float(value)

    return Steps(begin, step)


def contestants(problem):
    """By name what takes part: all that is installed."""
    found = {
        ACCELERATED: lambda: _ours(problem, True),
        PLAIN: lambda: _ours(problem, False),
    }
    if importlib.util.find_spec("hmmlearn"):
        found[DEFAULT] = lambda: _hmmlearn(problem, "log")
        found[SCALING] = lambda: _hmmlearn(problem, "scaling")
    if importlib.util.find_spec("dynamax"):
        found[DYNAMAX] = lambda: _dynamax(problem)
    return {name: make() for name, make in found.items()}


def values_of(steps, n_sweeps):
    """The log-likelihood after each of these sweeps, the highest so far (nats)."""
    steps.start()
    return np.maximum.accumulate([steps.step() for _ in range(n_sweeps)])


def run(problem, n_rounds=5):
    """Sweeps and seconds of all until ours are at the best end that they find.

    hmmlearn and dynamax make the very sweeps of plain EM: that is checked, and seconds are
    multiplied where not all are timed. All are timed in turn, in rounds, warm.

    Returns a dict: `end`, the best end (nats); `sweeps` by name, None where the end is not reached;
    `seconds` by name, of the processor, one for each round; `curve` by name, some points
    (sweep, seconds, value).
    """
    every = contestants(problem)
    values = {name: values_of(every[name], problem.n_sweeps) for name in (ACCELERATED, PLAIN)}
    end = max(own[-1] for own in values.values())
    reached = {name: np.flatnonzero(own >= end - CLOSE) for name, own in values.items()}
    sweeps = {name: int(there[0]) + 1 if len(there) else None for name, there in reached.items()}
    n_timed = {name: n or problem.n_sweeps for name, n in sweeps.items()}
    for name in every.keys() - sweeps.keys():
        sweeps[name] = sweeps[PLAIN]
        n_timed[name] = n = min(n_timed[PLAIN], _TIMED)
        np.testing.assert_allclose(values_of(every[name], n), values[PLAIN][:n], rtol=1e-8)
    samples = in_turn(
        {name: partial(values_of, every[name], n) for name, n in n_timed.items()}, n_rounds
    )
    seconds = {
        # Where plain EM is not there in time its sweeps are a bound.
        name: [one * (sweeps[name] or problem.n_sweeps) / n_timed[name] for one in own]
        for name, own in samples.items()
    }
    curve = {
        name: points(values.get(name, values[PLAIN]), min(own) / n_timed[name])
        for name, own in samples.items()
    }
    return {"end": float(end), "sweeps": sweeps, "seconds": seconds, "curve": curve}


def in_turn(runs, n_rounds):
    """Processor seconds of each, a sample of all in every round."""
    repeats = {name: warmed_up(run) for name, run in runs.items()}
    gc.collect()
    gc.disable()
    try:
        rounds = [
            {name: sample(run, repeats[name]).cpu for name, run in runs.items()}
            for _ in range(n_rounds)
        ]
    finally:
        gc.enable()
    return {name: [one[name] for one in rounds] for name in runs}


def points(values, seconds):
    """At most 200 sweeps of a run, denser where it begins: sweep, its second, value."""
    kept = np.unique(np.geomspace(1, len(values), 200).round().astype(int))
    return [(int(i), float(i * seconds), float(values[i - 1])) for i in kept]


if __name__ == "__main__":
    print(json.dumps(run(problems()[sys.argv[1]](), int(sys.argv[2]))))
