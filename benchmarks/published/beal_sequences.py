"""Beal (2003), section 3.5.1: the number of states that VB keeps of twelve.

21 sequences of three kinds: substrings of (abc)*, of (acb)*, and of a and b at random. Seven states
explain them: three, another three, and one.
"""

from collections import Counter

import numpy as np
from joblib import Parallel, delayed

from benchmarks.published.beal import maximum_likelihood, mean_with_strength
from benchmarks.published.beal_sequences_pictures import ALPHABET, METHODS, N_STATES, draw
from benchmarks.published.tables import Table
from sklearn_cvb import CVBHMM, VBHMM
from sklearn_cvb.metrics import relabel

__all__ = ["draw", "run", "tables"]

# Strength 4 of every prior: 4/12 a state, 4/3 a symbol.
PRIOR = {"alpha": 4 / N_STATES, "beta": 4 / len(ALPHABET)}
KINDS = ("abc", "acb", "ab")
PER_KIND = 7
SHORTEST, LONGEST = 20, 39
# A state is kept if it is expected to emit at least half a symbol of all.
KEPT = 0.5


def sequences(seed=0):
    """The training sequences, seven of each kind, 20 to 39 symbols long.

    Parameters
    ----------
    seed : int, default=0

    Returns
    -------
    list of list of str

    Examples
    --------
    >>> from benchmarks.published.beal_sequences import sequences
    >>> X = sequences()
    >>> len(X), set(map(len, X)) <= set(range(20, 40)), "abcabc" in "".join(X[0])
    (21, True, True)
    """
    rng = np.random.default_rng(seed)
    found = []
    for kind in KINDS:
        for _ in range(PER_KIND):
            length, shift = rng.integers(SHORTEST, LONGEST + 1), rng.integers(3)
            if kind == "ab":
                found.append(rng.choice(["a", "b"], size=length).tolist())
            else:
                found.append([kind[(shift + t) % 3] for t in range(length)])
    return found


def run(settings):
    """Fit all algorithms from several starts.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
        ``"starts"``: for every start and method the states kept, sweeps and objective; ``"best"``:
        histories and tables of the start with the highest bound.
    """
    n_starts = 6 if settings.quick else 100
    X = sequences()
    starts = Parallel(n_jobs=settings.n_jobs, prefer="threads")(
        delayed(_described)(X, seed) for seed in range(n_starts)
    )
    best = int(np.argmax([start["VB"]["objective"] for start in starts]))
    return {
        "n_sequences": len(X),
        "n_tokens": sum(map(len, X)),
        "starts": starts,
        "best": _pictured(X, best),
        "best_seed": best,
    }


def fit_all(X, seed):
    """The fitted model of every method, each from the same ML fit.

    Parameters
    ----------
    X : list of sequences
    seed : int
        Seed of the first parameters of ML.

    Returns
    -------
    dict of str to fitted estimator
    """
    ml = maximum_likelihood(X, N_STATES, ALPHABET, seed, max_iter=2000, tol=1e-6)
    common = {
        "n_components": N_STATES,
        "vocabulary": list(ALPHABET),
        "handle_unknown": "error",
        "max_iter": 2000,
        "tol": 1e-6,
        "random_state": seed,
        **PRIOR,
    }
    return {
        "ML": ml,
        "VB": VBHMM(init=mean_with_strength(ml), **common).fit(X),
        "VB counts": VBHMM(init=ml, **common).fit(X),
        "CVB": CVBHMM(init=ml, **common).fit(X),
    }


def states_of_kinds(model):
    """The states of the training tokens of each kind of sequence.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    list of set of int
    """
    paths = [set(path.tolist()) for path in model.labels_]
    return [
        set().union(*paths[first : first + PER_KIND]) for first in range(0, len(paths), PER_KIND)
    ]


def has_structure(model):
    """Whether the kinds use three, three and one states, and share none."""
    kinds = states_of_kinds(model)
    return [len(states) for states in kinds] == [3, 3, 1] and len(set().union(*kinds)) == 7


def n_kept(model):
    """How many states are expected to emit something."""
    return int((model.counts_.emission.sum(axis=0) >= KEPT).sum())


def _described(X, seed):
    return {
        name: {
            "states": n_kept(model),
            "labelled": len(set().union(*states_of_kinds(model))),
            "structure": has_structure(model),
            "sweeps": int(model.n_iter_),
            "converged": bool(model.converged_),
            "objective": float(model.objective_),
        }
        for name, model in fit_all(X, seed).items()
    }


def _pictured(X, seed):
    """What the pictures show of one start, its states in the order of the kinds that use them."""
    models = fit_all(X, seed)
    new = np.argsort(_by_kind(models["VB"])).tolist()
    found = {}
    for name in ("ML", "VB"):
        model = relabel(models[name], new)
        means = model.startprob_, model.transmat_, model.emissionprob_
        found[name] = {
            "history": model.history_.tolist(),
            "means": [table.tolist() for table in means],
        }
    counts = model.counts_
    found["VB"]["parameters"] = [
        (counts.start + PRIOR["alpha"]).tolist(),
        (counts.transition + PRIOR["alpha"]).tolist(),
        (counts.emission.T + PRIOR["beta"]).tolist(),
    ]
    found["states"] = n_kept(model)
    return found


def _by_kind(model):
    """States in the order in which kinds use them: a cycle from its first state on, idle last."""
    order = []
    for states in states_of_kinds(model):
        left = sorted(states - set(order))
        while left:
            follows = model.transmat_[order[-1]] if order else model.startprob_
            state = max(left, key=follows.__getitem__)
            order.append(state)
            left.remove(state)
    return order + [state for state in range(N_STATES) if state not in order]


def tables(results):
    """States kept, structure found and sweeps, beside the thesis."""
    starts = results["starts"]
    rows = []
    for name, title in METHODS.items():
        found = [start[name] for start in starts]
        sweeps = sorted(one["sweeps"] for one in found)
        rows.append(
            [
                title,
                _distribution(one["states"] for one in found),
                _distribution(one["labelled"] for one in found),
                f"{sum(one['structure'] for one in found)} of {len(found)}",
                f"{np.median(sweeps):.0f} ({sweeps[0]} to {sweeps[-1]})",
                _best(name, starts),
            ]
        )
    rows.append(["*thesis: ML*", "*more than 7*", "", "*no*", "*296*", ""])
    rows.append(["*thesis: VB*", "*7: 1*", "", "*1 of 1*", "*29*", ""])
    header = ["", "states kept: starts", "states of some label: starts", "3 + 3 + 1"]
    header += ["sweeps, median (range)", "start with the best objective"]
    return {"states": Table(header, rows, f"States kept of 12, {len(starts)} starts")}


def _distribution(numbers):
    """How often each number occurs."""
    found = Counter(numbers)
    return ", ".join(f"{number}: {found[number]}" for number in sorted(found))


def _best(name, starts):
    """States kept by the start with the highest objective."""
    best = max(starts, key=lambda start: start[name]["objective"])[name]
    return f"{best['states']} states" + (", 3 + 3 + 1" if best["structure"] else "")
