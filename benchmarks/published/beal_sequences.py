"""Beal (2003), section 3.5.1: the number of states that VB keeps of twelve.

21 sequences of three kinds: substrings of (abc)*, of (acb)*, and of a and b at random. Seven states
explain them: three, another three, and one.
"""

from collections import Counter

import numpy as np
from joblib import Parallel, delayed

from benchmarks.published.beal import Swept, maximum_likelihood, mean_with_strength, swept
from benchmarks.published.tables import Table
from sklearn_cvb import CVBHMM, VBHMM, Symbols
from sklearn_cvb.metrics import relabel

ALPHABET = "abc"
N_STATES = 12
METHODS = {
    "ML": "maximum likelihood",
    "VB": "VB from ML's parameters, strength 10",
    "VB counts": "VB from ML's counts",
    "CVB": "CVB (sequence) from ML",
}


# Strength 4 of every prior: 4/12 per state, 4/3 per symbol.
PRIOR = {"alpha": 4 / N_STATES, "beta": 4 / len(ALPHABET)}
KINDS = ("abc", "acb", "ab")
PER_KIND = 7
SHORTEST, LONGEST = 20, 39
# A state is kept if it is expected to emit at least half a symbol of all.
KEPT = 0.5
# ML and VB end when a sweep changes the objective by less than this many nats per symbol.
NATS, MOST_SWEEPS = 1e-6, 2000


def sequences(seed=0):
    """The training sequences, seven of each kind, 20 to 39 symbols long."""
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

    Returns ``"starts"``: for every start and method the states kept, sweeps and objective;
    ``"best"``: histories and tables of the start with the highest bound.
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
    """The fit of every method, each but the first from that of ML."""
    least = NATS * sum(map(len, X))
    ml = swept(maximum_likelihood(X, N_STATES, ALPHABET, seed), X, least, MOST_SWEEPS)
    common = {
        "n_components": N_STATES,
        "emission": Symbols(vocabulary=list(ALPHABET), handle_unknown="error"),
        "random_state": seed,
        **PRIOR,
    }
    from_mean = VBHMM(init=mean_with_strength(ml.model), **common)
    # Its objective may fall, and small changes say nothing.
    cvb = CVBHMM(init=ml.model, max_iter=MOST_SWEEPS, **common).fit(X)
    return {
        "ML": ml,
        "VB": swept(from_mean, X, least, MOST_SWEEPS),
        "VB counts": swept(VBHMM(init=ml.model, **common), X, least, MOST_SWEEPS),
        "CVB": Swept(cvb, cvb.history_, cvb.converged_),
    }


def states_of_kinds(model):
    """The states of the training tokens of each kind of sequence."""
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
            "states": n_kept(fit.model),
            "labelled": len(set().union(*states_of_kinds(fit.model))),
            "structure": has_structure(fit.model),
            "sweeps": len(fit.history),
            "converged": fit.converged,
            "objective": float(fit.history[-1]),
        }
        for name, fit in fit_all(X, seed).items()
    }


def _pictured(X, seed):
    """What the pictures show of one start, its states in the order of the kinds that use them."""
    fits = fit_all(X, seed)
    new = np.argsort(_by_kind(fits["VB"].model)).tolist()
    found = {}
    for name in ("ML", "VB"):
        model = relabel(fits[name].model, new)
        means = model.startprob_, model.transmat_, model.emissionprob_
        found[name] = {
            "history": fits[name].history.tolist(),
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


def draw(results, folder):
    """Curves, Hinton diagrams, the transition graph and the states kept."""
    pictures = {
        "curves": _draw_curves,
        "hinton": _draw_hinton,
        "graph": _draw_graph,
        "states": _draw_states,
    }
    for name, picture in pictures.items():
        picture(results).savefig(folder / f"beal_sequences_{name}.png", dpi=110)


def _draw_curves(results):
    """Log-likelihood of ML, then the bound of VB, and their changes: figure 3.2."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots(2, 2, sharex="col")
    n_ml = len(results["best"]["ML"]["history"])
    for column, (name, what, first) in enumerate(
        [("ML", "log-likelihood", 1), ("VB", "lower bound", n_ml + 1)]
    ):
        history = np.array(results["best"][name]["history"])
        sweeps = first + np.arange(len(history))
        axes[0, column].plot(sweeps, history, linewidth=1.3)
        axes[0, column].set(title=f"{name}: {what}", ylabel="nats")
        axes[1, column].semilogy(sweeps[1:], np.maximum(np.diff(history), 1e-12), linewidth=1.3)
        axes[1, column].set(xlabel="sweep", ylabel="change per sweep (nats)")
    for ax in axes.ravel():
        ax.grid(alpha=0.3)
    return figure


def _draw_hinton(results):
    """Start, transitions and emissions of ML, VB's parameters and their means: figure 3.3."""
    from matplotlib.figure import Figure

    from sklearn_cvb.plotting import hinton

    best = results["best"]
    columns = {
        "ML: probabilities": best["ML"]["means"],
        "VB: Dirichlet parameters": best["VB"]["parameters"],
        "VB: mean probabilities": best["VB"]["means"],
    }
    names = [str(state + 1) for state in range(N_STATES)]
    figure = Figure(figsize=(11, 4.1), layout="constrained")
    parts = figure.subfigures(1, len(columns))
    for part, (title, tables) in zip(parts, columns.items(), strict=True):
        axes = part.subplots(
            2, 2, width_ratios=[N_STATES, len(ALPHABET)], height_ratios=[1, N_STATES]
        )
        start, transition, emission = map(np.array, tables)
        hinton(start, row_labels=["start"], column_labels=names, ax=axes[0, 0])
        axes[0, 1].set_axis_off()
        hinton(transition, row_labels=names, column_labels=names, ax=axes[1, 0])
        hinton(emission, row_labels=names, column_labels=list(ALPHABET), ax=axes[1, 1])
        axes[1, 0].set(xlabel="to state", ylabel="from state")
        axes[1, 1].set_xlabel("symbol")
        part.suptitle(title, fontsize=10)
        for ax in axes.ravel():
            ax.tick_params(labelsize=7)
    return figure


def _draw_graph(results):
    """Transitions of the kept states with the symbols they emit."""
    from matplotlib.figure import Figure

    from sklearn_cvb.plotting import plot_transitions

    _, transition, emission = map(np.array, results["best"]["VB"]["means"])
    n = results["best"]["states"]
    labels = [
        "".join(symbol for symbol, p in zip(ALPHABET, row, strict=True) if p > 0.25)
        for row in emission[:n]
    ]
    figure = Figure(figsize=(5.2, 4), layout="constrained")
    ax = plot_transitions(transition[:n, :n], labels=labels, ax=figure.subplots())
    ax.set_title("VB: the states kept, by the symbols they emit")
    return figure


def _draw_states(results):
    """How many starts label with how many states, by method."""
    from matplotlib.figure import Figure

    from sklearn_cvb.plotting.axes import legend_beside

    figure = Figure(figsize=(8, 3), layout="constrained")
    ax = figure.subplots()
    numbers = np.arange(1, N_STATES + 1)
    for index, (name, title) in enumerate(METHODS.items()):
        used = Counter(start[name]["labelled"] for start in results["starts"])
        heights = [100 * used[n] / len(results["starts"]) for n in numbers]
        ax.bar(numbers + 0.2 * (index - 1.5), heights, width=0.2, label=title)
    ax.set(xlabel="states that label a symbol (thesis: VB 7)", ylabel="starts (%)", xticks=numbers)
    ax.set_xlim(2.5, N_STATES + 0.5)
    legend_beside(ax)
    return figure
