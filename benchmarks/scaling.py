"""How costs grow: with states, tokens, vocabulary, ambiguity; memory with tokens."""

from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks import peers, tree_curves
from benchmarks.memory import repeated
from benchmarks.models import (
    DENSE,
    N_STATES,
    TAGGERS,
    Sweep,
    dense_sweep,
    tagger_sweep,
)
from benchmarks.text import read
from benchmarks.timing import isolated, sample, warmed_up
from sklearn_cvb import tag_dictionary_from
from sklearn_cvb.plotting import algorithm_colours

_LENGTH = 20
_SAMPLES = 5
# hmmlearn is timed up to this many states, and on this many tokens.
_PEER_STATES, _PEER_TOKENS = 128, 2000
_MATRIX_PRODUCT = "6 K² in a matrix product"


class Curve(NamedTuple):
    """What is drawn: for each line its points (x, y)."""

    title: str
    x_label: str
    y_label: str
    lines: dict
    logarithmic: str = "xy"  # which axes are, "xy", "x" or none


def cost(run, n_tokens):
    """Median nanoseconds of processor time per token."""
    repeats = warmed_up(run, 0.05)
    return 1e9 * median(sample(run, repeats).cpu for _ in range(_SAMPLES)) / n_tokens


def random_sequences(n_tokens, n_symbols):
    """Uniform symbols in sequences of one length; each symbol occurs if there is room."""
    rng = np.random.default_rng(0)
    size = -(-n_tokens // _LENGTH) * _LENGTH
    tokens = rng.integers(n_symbols, size=size)
    tokens[: min(size, n_symbols)] = np.arange(min(size, n_symbols))
    return list(rng.permutation(tokens).reshape(-1, _LENGTH))


def states(settings):
    """Time per token against the number of states, without a dictionary.

    Beside it the 6 K^2 operations of a token at the rate of a large matrix product.
    """
    sizes = (2, 8) if settings.quick else (2, 4, 8, 16, 32, 45, 64, 128, 256, 512, 1024)
    lines = {name: [] for name in (*DENSE, _MATRIX_PRODUCT)}
    size = 256 if settings.quick else 1024
    product, n_operations = peers.matrix_product(size, size, size)
    if peers.versions()["hmmlearn"]:
        lines["hmmlearn"] = []
    for k in sizes:
        X = random_sequences(int(np.clip(1e9 / k**2, 3000, 40_000)), 1000)
        for name in DENSE:
            sweep = dense_sweep(name, X, k)
            lines[name].append((k, cost(sweep, sweep.n_tokens)))
        lines[_MATRIX_PRODUCT].append((k, cost(product, n_operations / (6 * k**2))))
        if "hmmlearn" in lines and k <= _PEER_STATES:
            part = X[: _PEER_TOKENS // _LENGTH]
            codes, lengths = np.concatenate(part), np.full(len(part), _LENGTH)
            iterate = peers.hmmlearn_iteration(codes, lengths, k, 1000)
            lines["hmmlearn"].append((k, cost(iterate, len(codes))))
    return Curve("All states open", "states K", "ns per token and sweep", lines)


def tokens(settings):
    """Time per token against the size of the corpus, with a dictionary."""
    text = read(settings, "journal")
    legal = tag_dictionary_from(text.X, text.y, weights=False)
    lines = {name: [] for name in TAGGERS}
    for size in (1000, 4000) if settings.quick else (10**4, 10**5, 10**6, 10**7):
        X = repeated(text.X, size)
        for name, tagger in TAGGERS.items():
            sweep = Sweep(tagger(legal), X)
            lines[name].append((sweep.n_tokens, cost(sweep, sweep.n_tokens)))
    return Curve("With a dictionary", "tokens", "ns per token and sweep", lines, "x")


def vocabulary(settings):
    """Time per token against the number of words, all states open and two of them."""
    n_tokens = 2000 if settings.quick else 200_000
    kinds = "K=45", "two tags per word"
    lines = {f"{name}, {kind}": [] for name in ("EM", "VB") for kind in kinds}
    for n_words in (100, 1000) if settings.quick else (100, 1000, 10_000, 100_000):
        X = random_sequences(n_tokens, n_words)
        legal = {
            word: [word % N_STATES, (word // N_STATES + 7) % N_STATES] for word in range(n_words)
        }
        for name in ("EM", "VB"):
            for kind, estimator in (
                ("K=45", DENSE[name](N_STATES)),
                ("two tags per word", TAGGERS[name](legal)),
            ):
                sweep = Sweep(estimator, X)
                lines[f"{name}, {kind}"].append((n_words, cost(sweep, sweep.n_tokens)))
    return Curve("Size of the vocabulary", "words", "ns per token and sweep", lines)


def ambiguity(settings):
    """Time per token against how many tags it may have on average: rarer words open to all."""
    text = read(settings, "journal")
    n_sentences = 100 if settings.quick else 3000
    lines = {name: [] for name in TAGGERS}
    for min_count in (1, 10**9) if settings.quick else (1, 2, 3, 5, 10, 30, 100, 1000, 10**9):
        for name in TAGGERS:
            if min_count == 10**9:
                sweep = dense_sweep(name, text.X[:n_sentences])
            else:
                sweep = tagger_sweep(name, text, min_count, n_sentences)
            lines[name].append((sweep.tags_per_token, cost(sweep, sweep.n_tokens)))
    return Curve("Partial dictionaries", "tags per token", "ns per token and sweep", lines)


def memory(settings):
    """Peak bytes per token against the size of the corpus, with a dictionary."""
    sizes = (1000, 2000) if settings.quick else (10**4, 10**5, 10**6, 10**7)
    lines = {}
    for name in ("EM",) if settings.quick else ("EM", "CVB sequence", "CVB token", "Gibbs"):
        runs = [isolated(f"peak/{name}/journal/{size}", settings) for size in sizes]
        lines[name] = [(run["tokens"], run["traced"]) for run in runs]
    return Curve("With a dictionary, X not counted", "tokens", "peak bytes per token", lines, "x")


def grammar_length(settings):
    """Time per sentence against its length, under a grammar with all rules."""
    return Curve(*tree_curves.grammar_length(settings))


def grammar_states(settings):
    """Time per sentence against the number of symbols, under a grammar with all rules."""
    return Curve(*tree_curves.grammar_states(settings))


CURVES = {
    function.__name__: function
    for function in (
        states,
        tokens,
        vocabulary,
        ambiguity,
        memory,
        grammar_length,
        grammar_states,
    )
}


def draw(curve, path):
    """Draw a curve."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    colours = algorithm_colours(curve.lines)
    for marker, colour, (label, points) in zip(
        "osD^vPX*", colours, curve.lines.items(), strict=False
    ):
        x, y = zip(*points, strict=True)
        axes.plot(x, y, label=label, color=colour, marker=marker, markersize=4, linewidth=1.3)
    if "x" in curve.logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xticks(sorted({x for points in curve.lines.values() for x, _ in points}))
    if "y" in curve.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}" if y >= 1 else f"{y:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.set(title=curve.title, xlabel=curve.x_label, ylabel=curve.y_label)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    figure.savefig(path, dpi=110)
