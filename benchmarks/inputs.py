"""Models with inputs beside dynamax and statsmodels: how near each start comes, and in how long.

``python -m benchmarks.inputs`` fits a GLM-HMM of choices and two switching regressions from several
random starts in every library that is installed, and prints for each the log-likelihood of its best
start, the share of starts that come within .01 nats of the best one of all libraries, processor
seconds a start with all compiled, and what follows: seconds until one start of them has come there.
Series are those of `statsmodels`, without which there are choices alone.
"""

import argparse
import time
import warnings
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from sklearn_cvb import EMHMM, Transitions
from sklearn_cvb.emissions import Estimator

# Nats by which a start may miss the best one.
_NEAR = 0.01
_SWEEPS_OF_DYNAMAX, _SEARCHES = 200, 20


class Starts(NamedTuple):
    """Log-likelihoods of some starts, and processor seconds of each."""

    log_likelihoods: list[float]
    seconds: list[float]


def choices(n_sessions=40, n=90, seed=0):
    """Choices by three strategies, after Ashwood et al. (2022): inputs and choices, and states."""
    stimuli = np.array([-1, -0.5, -0.25, -0.125, -0.0625, 0, 0.0625, 0.125, 0.25, 0.5, 1])
    weights = np.array([[6.0, 1, 0.3, 0.1], [2, -3, 0.8, 0.2], [2, 3, 0.8, 0.2]])
    moves = np.array([[0.98, 0.01, 0.01], [0.05, 0.92, 0.03], [0.03, 0.03, 0.94]])
    rng, found, states = np.random.default_rng(seed), [], []
    for _ in range(n_sessions):
        before, stay, state, rows = 0.0, 0.0, rng.integers(3), []
        for t in range(n):
            if t:
                state = rng.choice(3, p=moves[state])
            stimulus = rng.choice(stimuli)
            inputs = np.array([stimulus, 1.0, before, stay])
            choice = int(rng.random() < 1 / (1 + np.exp(-weights[state] @ inputs)))
            right = (stimulus > 0) if stimulus else rng.random() < 0.5
            before = 2.0 * choice - 1
            stay = before * (1 if choice == right else -1)
            rows.append([*inputs, choice])
            states.append(state)
        found.append(np.array(rows))
    return found, np.array(states)


def timed(fit, seeds):
    """A log-likelihood and seconds for each seed; the first fit, which compiles, is made twice."""
    fit(seeds[0])
    found = []
    for seed in seeds:
        before = time.process_time()
        value = fit(seed)
        found.append((value, time.process_time() - before))
    return Starts(*map(list, zip(*found, strict=True)))


def ours(X, n_states, emission, start, seed):
    """The log-likelihood of one start; states stay with .9 and .5 by turns, as in restarts."""
    model = EMHMM(n_states, emission=emission, transitions=Transitions(start=start), n_init=2)
    model.set_params(random_state=seed, tol=1e-5, max_iter=1000).fit(X)
    return float(model.restart_objectives_[seed % 2])


def both_starts(fit):
    """Two restarts are one fit: half of its seconds are those of one."""

    def halved(seeds):
        found = timed(fit, seeds)
        return found._replace(seconds=[0.5 * one for one in found.seconds])

    return halved


def by_dynamax(X, seed):
    """The log-likelihood after sweeps of dynamax, from transitions of .9 on the diagonal."""
    import jax.numpy as jnp
    import jax.random as jr
    from dynamax.hidden_markov_model import LogisticRegressionHMM

    inputs, outputs = (
        jnp.array([own[:, [0, 2, 3]] for own in X]),
        jnp.array([own[:, 4] for own in X]),
    )
    key = jr.PRNGKey(seed)
    prior = {"initial_probs_concentration": 1.0001, "transition_matrix_concentration": 1.0001}
    model = LogisticRegressionHMM(3, 3, **prior)
    first = {
        "transition_matrix": jnp.full((3, 3), 0.1 / 3) + 0.9 * jnp.eye(3),
        "emission_weights": jr.normal(key, (3, 3)),
        "emission_biases": jr.normal(jr.PRNGKey(seed + 100), (3,)),
    }
    own, props = model.initialize(key, method="prior", **first)
    own, _ = model.fit_em(
        own, props, outputs, inputs=inputs, num_iters=_SWEEPS_OF_DYNAMAX, verbose=False
    )
    pairs = zip(outputs, inputs, strict=True)
    return float(sum(model.marginal_log_prob(own, y, inputs=x) for y, x in pairs))


def by_statsmodels(y, inputs, settings, seed):
    """The log-likelihood of statsmodels' fit after random searches for a start."""
    from statsmodels.tsa.regime_switching.markov_regression import MarkovRegression

    model = MarkovRegression(y, k_regimes=2, exog=inputs, **settings)
    np.random.seed(seed)  # noqa: NPY002 (statsmodels draws from it)
    return float(model.fit(disp=0, search_reps=_SEARCHES, maxiter=500).llf)


def switching(name):
    """A series of statsmodels' tests, its inputs, and whether variances switch."""
    import statsmodels.tsa.regime_switching.tests.test_markov_regression as tests

    rate = np.array(tests.fedfunds if name == "rate" else tests.areturns)
    return rate[1:], rate[:-1, None], name != "rate"


def problems():
    """For each problem the fits of every library, by its name."""
    X, _ = choices()
    plain = LogisticRegression(C=1e6, fit_intercept=False, tol=1e-6, max_iter=500)
    emission = Estimator(plain, inputs=[0, 1, 2, 3])
    found = {"choices": {"sklearn_cvb": both_starts(partial(ours, X, 3, emission, "free"))}}
    if find_spec("dynamax"):
        found["choices"]["dynamax"] = partial(timed, partial(by_dynamax, X))
    for name in ("rate", "returns") if find_spec("statsmodels") else ():
        y, inputs, switches = switching(name)
        dispersion = "state" if switches else "tied"
        lines = Estimator(LinearRegression(), inputs=[0], dispersion=dispersion)
        own = partial(ours, [np.column_stack([inputs, y])], 2, lines, "stationary")
        settings = {"switching_variance": switches}
        found[name] = {
            "sklearn_cvb": both_starts(own),
            "statsmodels": partial(timed, partial(by_statsmodels, y, inputs, settings)),
        }
    return found


def rows(name, starts):
    """A line for each library: best, share of starts that are near it, seconds."""
    best = max(max(own.log_likelihoods) for own in starts.values())
    for library, own in starts.items():
        share = float(np.mean([value > best - _NEAR for value in own.log_likelihoods]))
        each = float(np.mean(own.seconds))
        until = each / share if share else np.inf
        figures = f"{max(own.log_likelihoods):12.4f} {share:6.0%} {each:8.2f} {until:8.2f}"
        yield f"{name:10} {library:12} {figures}"


def main(arguments=None):
    """Fit, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inputs", description=__doc__)
    parser.add_argument("--starts", type=int, default=6)
    parser.add_argument("--problems", type=lambda text: text.split(","), help="some of them")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(f"{'problem':10} {'library':12} {'best':>12} {'near':>6} {'s/start':>8} {'s to it':>8}")
    for name, libraries in problems().items():
        if options.problems and name not in options.problems:
            continue
        seeds = list(range(options.starts))
        print(*rows(name, {own: fits(seeds) for own, fits in libraries.items()}), sep="\n")


if __name__ == "__main__":
    main()
