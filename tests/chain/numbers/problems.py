"""Short series of each kind of numbers, and the settings of chains."""

import numpy as np

from sklearn_cvb import Durations, Transitions
from sklearn_cvb.emissions import (
    AutoRegressive,
    Bernoulli,
    Categorical,
    Columns,
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

EMISSIONS = {
    "full": Gaussian("full"),
    "tied": Gaussian("tied"),
    "diag": Gaussian("diag"),
    "spherical": Gaussian("spherical"),
    "bernoulli": Bernoulli(),
    "poisson": Poisson(),
    "gamma": Gamma(shape=2.0),
    "negative binomial": NegativeBinomial(size=3),
    "von mises": VonMises(concentration_range=(0.1, 100.0)),
    "mixture": Mixture(Gaussian("diag")),
    "student": StudentT(3.0),
    "zeros": ZeroInflated(Poisson()),
    "multinomial": Multinomial(),
    "categorical": Categorical(n_categories=3),
    "regression": Regression(inputs=[1], outputs=[0, 2]),
    "autoregression": AutoRegressive(),
    "columns": Columns([(Gaussian("diag"), [1]), (Bernoulli(), [0]), (Poisson(), [2])]),
    "tied regression": Regression(inputs=[1], outputs=[0, 2], covariance_type="tied"),
}
TOPOLOGIES = {
    "full": "full",
    "left-right": "left-right",
    "constant": "constant",
    "independent": "independent",
    "table": np.array([[True, True], [True, False]]),
    # Full, with transitions by the context that the last of three columns holds.
    "contexts": "full",
    # And with visits that last for at most three steps.
    **dict.fromkeys(("histogram", "poisson", "negative binomial"), "full"),
    "left-right histogram": "left-right",
    "left-right poisson": "left-right",
}
LAWS = {
    "histogram": Categorical(concentration_prior=0.5),
    "poisson": "poisson",
    "negative binomial": NegativeBinomial(size=2.0, size_prior=1.0),
}
LAWS |= {f"left-right {law}": LAWS[law] for law in ("histogram", "poisson")}


def transitions(topology, **settings):
    """Transitions of this topology."""
    contexts = 2 if topology == "contexts" else None
    lasting = Durations(LAWS[topology], longest=3) if topology in LAWS else None
    return Transitions(TOPOLOGIES[topology], contexts=contexts, durations=lasting, **settings)


def numbers(kind, lengths, missing="", seed=0, topology="full"):
    """Series of two regimes; `missing` is "", "steps" or "values"."""
    if topology == "contexts":
        # The first step of a series needs none.
        rng = np.random.default_rng(seed)
        found = [np.append(np.nan, rng.integers(0, 3, n - 1)) for n in lengths]
        series = numbers(kind, lengths, missing, seed)
        return [np.column_stack(pair) for pair in zip(series, found, strict=True)]
    rng = np.random.default_rng([seed, len(lengths)])
    series = []
    for length in lengths:
        state = (np.arange(length) + rng.integers(4)) // 2 % 2
        if kind in ("full", "tied", "diag", "spherical", "mixture", "student"):
            x = rng.normal(size=(length, 2)) @ np.array([[1.0, 0.4], [0.0, 0.7]])
            x = x + state[:, None] * [2.0, -1.0]
        elif kind == "bernoulli":
            x = (rng.random((length, 2)) < 0.2 + 0.5 * state[:, None]).astype(float)
        elif kind == "autoregression":
            x = rng.normal(size=(length, 2))
            for t in range(1, length):
                x[t] += x[t - 1] @ [[0.8, 0.1], [-0.3, 0.2]] * (1 - 2 * state[t])
        elif kind in ("regression", "tied regression"):
            x = rng.normal(size=(length, 3))
            x[:, [0, 2]] += (x[:, 1] * (1 - 2 * state) + state)[:, None] * [2.0, -0.5]
        elif kind == "gamma":
            x = rng.gamma(2.0, 1.0 + 3.0 * state[:, None], (length, 2))
        elif kind == "von mises":
            x = rng.vonmises(2.5 * state[:, None] + np.array([0.5, -1.0]), 3.0)
        elif kind == "zeros":
            x = (rng.poisson(2.0 + 6.0 * state) * (rng.random(length) < 0.6)).astype(float)[:, None]
        elif kind == "multinomial":
            shares = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
            x = rng.multinomial(5, shares[state]).astype(float)
        elif kind in ("poisson", "negative binomial"):
            x = rng.poisson(2.0 + 6.0 * state[:, None] + np.zeros(2)).astype(float)
        elif kind == "categorical":
            x = np.minimum(rng.integers(0, 2, (length, 2)) + state[:, None], 2).astype(float)
        else:
            x = np.column_stack(
                [rng.random(length) < 0.5, rng.normal(3 * state), rng.poisson(2 + 3 * state)]
            ).astype(float)
        series.append(x)
    if missing == "steps" or (missing and kind == "multinomial"):
        for x in series:
            x[rng.random(len(x)) < 0.25] = np.nan
    elif missing == "values":
        for x in series:
            x[rng.random(x.shape) < 0.25] = np.nan
    if np.isnan(np.concatenate(series)).all(axis=1).all():
        return numbers(kind, lengths, missing, seed + 1)
    return series


def start(lengths, n_states, seed=1):
    """Posteriors to start from."""
    rng = np.random.default_rng(seed)
    return [rng.dirichlet(np.ones(n_states), length) for length in lengths]
