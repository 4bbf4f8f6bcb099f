"""Pictures of Beal's experiment on sequences: figures 3.2 and 3.3, and what they do not show."""

from collections import Counter

import numpy as np

ALPHABET = "abc"
N_STATES = 12
METHODS = {
    "ML": "maximum likelihood",
    "VB": "VB from ML's parameters, strength 10",
    "VB counts": "VB from ML's counts",
    "CVB": "CVB (sequence) from ML",
}


def draw(results, folder):
    """Curves, Hinton diagrams, the transition graph and the states kept.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
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
