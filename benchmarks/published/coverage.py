"""How often credible intervals hold the truth: ``python -m benchmarks.published.coverage``.

Parameters are drawn from the prior, sequences from the parameters, and a few labels are shown,
which name the states. An exact posterior then holds each probability in its 95 % interval 95 % of
the time.
"""

import argparse
import sys
import warnings
from functools import partial

import numpy as np

from benchmarks.published.tables import Table, comma_separated
from sklearn_cvb import CVBHMMTagger, GibbsHMMTagger, Samples, Symbols, VBHMMTagger

LEVELS = (0.5, 0.8, 0.95)
N_STATES, N_SYMBOLS = 3, 8
N_SEQUENCES, LENGTH = 12, 10
PRIOR = 1.0
LABELLED = (0.1, 0.4)

_GIBBS = {"samples": Samples(100, thin=4), "max_iter": 400}
METHODS = {
    "VB": VBHMMTagger,
    "CVB token": partial(CVBHMMTagger, update="token"),
    "CVB sequence": CVBHMMTagger,
    "Gibbs token": partial(GibbsHMMTagger, **_GIBBS),
    "Gibbs sequence": partial(GibbsHMMTagger, update="sequence", **_GIBBS),
    "Gibbs parameter": partial(GibbsHMMTagger, update="parameter", **_GIBBS),
}


def drawn(rng, labelled):
    """Probabilities from the prior, sequences from these, and labels of some tokens.

    The last value says whether each state has a label, and thus a name.
    """
    start = rng.dirichlet(np.full(N_STATES, PRIOR))
    transition = rng.dirichlet(np.full(N_STATES, PRIOR), size=N_STATES)
    emission = rng.dirichlet(np.full(N_SYMBOLS, PRIOR), size=N_STATES)
    X, y = [], []
    for _ in range(N_SEQUENCES):
        states = [rng.choice(N_STATES, p=start)]
        while len(states) < LENGTH:
            states.append(rng.choice(N_STATES, p=transition[states[-1]]))
        X.append([int(rng.choice(N_SYMBOLS, p=emission[state])) for state in states])
        shown = rng.random(LENGTH) < labelled
        y.append([int(z) if here else None for z, here in zip(states, shown, strict=True)])
    seen = {label for row in y for label in row} - {None}
    return (transition, emission), X, y, len(seen) == N_STATES


def coverage(n_replications, labelled, levels=LEVELS, methods=tuple(METHODS)):
    """Shares of true probabilities inside their intervals, and how wide these are.

    `labelled`: share of tokens whose state is shown. `methods`: keys of `METHODS`. Returns by
    method: ``inside``, shape (2, n_levels): transitions, then emissions; ``width``, mean widths of
    the same shape; ``error``, standard errors of ``inside`` over replications.
    """
    rng = np.random.default_rng(0)
    tables = {name: [] for name in methods}
    done = 0
    while done < n_replications:
        truth, X, y, is_named = drawn(rng, labelled)
        # This is seen in the data: leaving such data out keeps an exact posterior exact.
        if not is_named:
            continue
        for name in methods:
            symbols = Symbols(range(N_SYMBOLS), handle_unknown="error")
            settings = {"alpha": PRIOR, "beta": PRIOR, "emission": symbols}
            model = METHODS[name](random_state=done, **settings)
            tables[name].append(_inside(model.fit(X, y), truth, levels))
        done += 1
    return {name: _summary(np.array(rows)) for name, rows in tables.items()}


def _inside(model, truth, levels):
    """Mean coverage and width of transitions and emissions by level: (2, 2, n_levels)."""
    result = np.empty((2, 2, len(levels)))
    for column, level in enumerate(levels):
        intervals = model.credible_intervals(level=level)
        for row, (name, true) in enumerate(zip(("transition", "emission"), truth, strict=True)):
            lower, upper = getattr(intervals, name)
            result[0, row, column] = np.mean((lower <= true) & (true <= upper))
            result[1, row, column] = np.mean(upper - lower)
    return result


def _summary(rows):
    inside, width = rows.mean(axis=0)
    error = rows[:, 0].std(axis=0, ddof=1) / np.sqrt(len(rows))
    return {"inside": inside.tolist(), "width": width.tolist(), "error": error.tolist()}


def table(found, levels=LEVELS):
    """Coverage in per cent."""
    header = ["algorithm"]
    for kind in ("transitions", "emissions"):
        header += [f"{kind}, {100 * level:.0f} %" for level in levels]
    rows = []
    for name, figures in found.items():
        cells = [
            f"{100 * share:.1f} ({100 * error:.1f})"
            for shares, errors in zip(figures["inside"], figures["error"], strict=True)
            for share, error in zip(shares, errors, strict=True)
        ]
        rows.append([name, *cells])
    return Table(header, rows, "Truths inside their intervals, in per cent (standard error)")


def main(arguments=None):
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published.coverage", description=__doc__
    )
    parser.add_argument("--replications", type=int, default=400, help="data sets (default: 400)")
    options = parser.parse_args(arguments)
    for labelled in LABELLED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = coverage(options.replications, labelled)
        print(
            f"{100 * labelled:.0f} % of the tokens labelled\n\n{comma_separated(table(found))}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
