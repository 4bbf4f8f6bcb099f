"""How long whole fits take through `sklearn_cvb.hmmlearn`, and in hmmlearn.

``python -m benchmarks.hmmlearn_speed`` prints milliseconds of small fits with defaults, whose cost
is mostly fixed, and of large ones from the same parameters, against hmmlearn's default ("log") and
its faster ``implementation="scaling"``. Set ``OMP_NUM_THREADS=1`` where others use the machine:
k-means, with which normal emissions begin in both, waits for its threads.
"""

import logging
import warnings
from time import perf_counter

import numpy as np

_SMALL, _LARGE, _N_ITER = (30, 100, 300), 50_000, 30


def _milliseconds(fit, n):
    fit()
    taken = []
    for _ in range(n):
        begin = perf_counter()
        fit()
        taken.append(perf_counter() - begin)
    return 1e3 * min(taken)


def _print(title, fits, n):
    theirs, ours = (_milliseconds(fit, n) for fit in fits)
    print(f"{title:45s} {theirs:10.2f} {ours:10.2f} {theirs / ours:6.2f}", flush=True)


def small(modules):
    """Fits with defaults."""
    rng = np.random.default_rng(0)
    for n in _SMALL:
        numbers = rng.normal(np.repeat([0.0, 4.0], [n // 2, n - n // 2]))[:, None]
        data = {
            "CategoricalHMM": rng.integers(0, 4, (n, 1)),
            "PoissonHMM": rng.poisson(3, (n, 1)),
            "GaussianHMM": numbers,
        }
        for n_iter in (10, 100):
            for name, X in data.items():
                settings = {"random_state": 0, "n_iter": n_iter, "tol": -np.inf}
                fits = [
                    lambda m=m, name=name, X=X, settings=settings: getattr(m, name)(
                        2, **settings
                    ).fit(X)
                    for m in modules
                ]
                _print(f"{name}, {n} steps, {n_iter} of EM", fits, 5)


def _large_fit(module, name, X, lengths, tables, **more):
    """A fit from these tables."""
    n = len(tables["startprob_"])
    settings = {"n_iter": _N_ITER, "tol": -np.inf, "init_params": "", **more}
    model = getattr(module, name)(n, **settings)

    def fit():
        for attribute, table in tables.items():
            setattr(model, attribute, table)
        model.fit(X, lengths)

    return fit


def _print_large(title, modules, *fit, **more):
    """A line for each of hmmlearn's implementations."""
    for implementation in ("log", "scaling"):
        fits = [_large_fit(m, *fit, implementation=implementation, **more) for m in modules]
        _print(f"{title}, {implementation}", fits, 2)


def large(modules):
    """Sentences and single series of many steps."""
    rng = np.random.default_rng(0)
    sentences = [25] * (_LARGE // 25)
    cases = [(k, w, lengths) for k, w in ((10, 50), (45, 10_000)) for lengths in (sentences, None)]
    for k, w, lengths in cases:
        tables = {"startprob_": rng.dirichlet(np.ones(k))}
        tables["transmat_"] = rng.dirichlet(np.ones(k), k)
        tables["emissionprob_"] = rng.dirichlet(np.ones(w), k)
        X = rng.integers(0, w, (_LARGE, 1))
        X[0] = w - 1
        kind = "one series" if lengths is None else "sentences"
        _print_large(
            f"{k} states, {w} symbols, {kind}", modules, "CategoricalHMM", X, lengths, tables
        )
    tables = {"startprob_": rng.dirichlet(np.ones(8)), "transmat_": rng.dirichlet(np.ones(8), 8)}
    tables["means_"] = 2 * rng.normal(size=(8, 4))
    numbers = rng.normal(size=(_LARGE, 4))
    for kind, covars in (("diag", np.ones((8, 4))), ("full", np.tile(np.eye(4), (8, 1, 1)))):
        tables["covars_"] = covars
        title = f"8 normal states, {kind}, one series"
        _print_large(title, modules, "GaussianHMM", numbers, None, tables, covariance_type=kind)


def main():
    """Print all."""
    from hmmlearn import hmm

    from sklearn_cvb.hmmlearn import hmm as face

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    print(f"{'milliseconds':45s} {'hmmlearn':>10s} {'here':>10s} {'ratio':>6s}")
    small((hmm, face))
    large((hmm, face))


if __name__ == "__main__":
    main()
