"""What the seven scripts of hmmlearn's gallery do, on hmmlearn and with one import changed.

``python -m benchmarks.hmmlearn_gallery`` runs each on both from the same starts and the same data
(of stocks: made), and prints by how much the figures differ. The gallery's multinomial counts, for
which there is no emission here, are Poisson's: with as many trials at every step rates divided by
these are the probabilities, in each step of EM. A script is a function of modules `hmm` and `vhmm`.
"""

import importlib
import logging
import warnings

import numpy as np


def best_of(scores):
    """Where the largest is; of those that are as large but for rounding, the first."""
    return int(np.argmax(scores > scores.max() - 1e-6))


def casino(hmm, vhmm):
    """Which rolls were those of the loaded die: the best of several fits on held-out rolls."""
    rng, steps = np.random.default_rng(0), np.array([[0.99, 0.01], [0.03, 0.97]])
    dice = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    states = [0]
    for _ in range(3999):
        states.append(rng.choice(2, p=steps[states[-1]]))
    rolls = np.array([[rng.choice(6, p=dice[state])] for state in states])
    fits = []
    for seed in range(5):
        model = hmm.CategoricalHMM(n_components=2, random_state=seed, init_params="se")
        model.transmat_ = np.array([[0.9, 0.1], [0.2, 0.8]])
        fits.append(model.fit(rolls[:2000]))
    scores = np.array([model.score(rolls[2000:]) for model in fits])
    best = fits[best_of(scores)]
    figures = best.startprob_, best.transmat_, best.emissionprob_
    return [scores, *figures, best.predict(rolls), best.decode(rolls)[0]]


def _regimes(seed, n_steps):
    """Four regimes in the plane, and their states."""
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0], [0.0, 11.0], [9.0, 10.0], [11.0, -1.0]])
    steps = np.array(
        [[0.7, 0.2, 0.0, 0.1], [0.3, 0.5, 0.2, 0], [0, 0.3, 0.5, 0.2], [0.2, 0, 0.2, 0.6]]
    )
    states = [0]
    for _ in range(n_steps - 1):
        states.append(rng.choice(4, p=steps[states[-1]]))
    return means[states] + rng.normal(0, 0.7, (n_steps, 2)), np.array(states), steps, means


def model_selection(hmm, vhmm):
    """How many states, by the criteria of Akaike and Schwarz."""
    X = _regimes(1, 600)[0]
    fits = [
        hmm.GaussianHMM(n, "full", n_iter=200, random_state=3).fit(X[:300]) for n in range(2, 7)
    ]
    return [np.array([[model.aic(X), model.bic(X), model.score(X)] for model in fits])]


def sampling_and_decoding(hmm, vhmm):
    """A model that is made of parameters, and what another recovers of its states."""
    X, _, steps, means = _regimes(2, 500)
    made = hmm.GaussianHMM(4, "full")
    made.startprob_, made.transmat_, made.means_ = np.array([0.6, 0.3, 0.1, 0.0]), steps, means
    made.covars_ = np.tile(0.5 * np.identity(2), (4, 1, 1))
    drawn, states = made.sample(50, random_state=1)
    assert drawn.shape == (50, 2)
    assert states.shape == (50,)
    fits = [
        hmm.GaussianHMM(4, "full", n_iter=100, random_state=seed).fit(X[:250]) for seed in (0, 1)
    ]
    scores = np.array([model.score(X[250:]) for model in fits])
    best = fits[best_of(scores)]
    return [made.score(X), made.predict_proba(X), scores, best.transmat_, best.decode(X)[0]]


def stock_analysis(hmm, vhmm):
    """Regimes of daily changes and volumes, of made data."""
    rng = np.random.default_rng(4)
    regime = np.repeat(rng.integers(0, 3, 40), 25)
    change = rng.normal([0.05, 0.0, -0.1], [0.3, 0.8, 2.0], (1000, 3))[np.arange(1000), regime]
    volume = rng.normal([10.0, 11.0, 13.0], 0.5, (1000, 3))[np.arange(1000), regime]
    X = np.column_stack([change, volume])
    model = hmm.GaussianHMM(3, "diag", n_iter=1000, random_state=0).fit(X)
    return [model.transmat_, model.means_, model.covars_, model.predict(X)]


def multinomial(hmm, vhmm):
    """Counts of the outcomes of as many trials at each step."""
    rng, table = np.random.default_rng(5), np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
    states = np.repeat([0, 1, 0, 1, 1, 0], 20)
    X = np.array([rng.multinomial(5, table[state]) for state in states])
    first = np.array([[0.4, 0.4, 0.2], [0.2, 0.3, 0.5]])
    if hasattr(hmm, "MultinomialHMM"):
        model = hmm.MultinomialHMM(2, n_trials=5, n_iter=50, tol=-np.inf, init_params="")
        model.emissionprob_ = first
    else:
        model = hmm.PoissonHMM(2, n_iter=50, tol=-np.inf, init_params="")
        model.lambdas_ = 5 * first
    model.startprob_, model.transmat_ = np.array([0.5, 0.5]), np.array([[0.8, 0.2], [0.3, 0.7]])
    model.fit(X, [60, 60])
    emitted = model.lambdas_ / 5 if hasattr(model, "lambdas_") else model.emissionprob_
    return [model.startprob_, model.transmat_, emitted, model.predict_proba(X, [60, 60])]


def poisson(hmm, vhmm):
    """Numbers of large earthquakes a year, made: the best of several fits and numbers of states."""
    rng = np.random.default_rng(6)
    X = rng.poisson(np.repeat([13, 20, 28, 19, 12], [20, 25, 12, 30, 20]))[:, None]
    fits = [
        hmm.PoissonHMM(n_components=n, random_state=seed, n_iter=30).fit(X)
        for n in range(1, 5)
        for seed in range(5)
    ]
    criteria = np.array([[model.aic(X), model.bic(X), model.score(X)] for model in fits])
    best = fits[best_of(criteria[:, 2])]
    return [criteria, best.lambdas_, best.transmat_, best.predict(X)]


def variational_inference(hmm, vhmm):
    """The lower bound says how many states are needed; the likelihood does not."""
    rng = np.random.default_rng(7)
    states = rng.integers(0, 4, 400)
    X = rng.normal(np.array([-4.0, 0.0, 4.0, 9.0])[states], 0.5)[:, None]
    figures = []
    for n in (2, 4, 6):
        given = {"n_iter": 100, "random_state": 0}
        by_em = hmm.GaussianHMM(n, "full", **given).fit(X)
        by_vb = vhmm.VariationalGaussianHMM(n, "full", **given).fit(X)
        # hmmlearn's bound leaves out a constant of the data.
        bound = np.array(by_vb.monitor_.history)
        figures += [by_em.score(X), bound - bound[0], by_vb.means_posterior_, by_vb.score(X)]
    return figures


SCRIPTS = {
    "plot_casino": casino,
    "plot_gaussian_model_selection": model_selection,
    "plot_hmm_sampling_and_decoding": sampling_and_decoding,
    "plot_hmm_stock_analysis": stock_analysis,
    "plot_multinomial_hmm": multinomial,
    "plot_poisson_hmm": poisson,
    "plot_variational_inference": variational_inference,
}


def largest_difference(script, package):
    """By how much any figure of a script differs from hmmlearn's, relative to the largest of it."""
    both = [
        script(importlib.import_module(f"{name}.hmm"), importlib.import_module(f"{name}.vhmm"))
        for name in ("hmmlearn", package)
    ]
    off = 0.0
    for theirs, ours in zip(*both, strict=True):
        theirs, ours = np.asarray(theirs, float), np.asarray(ours, float)
        assert theirs.shape == ours.shape
        off = max(off, np.abs(theirs - ours).max() / max(1.0, np.abs(theirs).max()))
    return float(off)


def main():
    """Run all on both, and print."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    for name, script in SCRIPTS.items():
        print(f"{name}: {largest_difference(script, 'sklearn_cvb.hmmlearn'):.1e}", flush=True)


if __name__ == "__main__":
    main()
