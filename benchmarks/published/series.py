"""Held-out likelihood of real series of numbers: EM, VB, CVB and Gibbs by number of states.

A fifth at a time is held out. Of one long series that is a block in the middle of it, which is
missing while the model learns; what is scored is its probability given all the rest. Of several
sequences it is every fifth one.
"""

from functools import partial
from importlib import import_module
from typing import NamedTuple

import numpy as np

from benchmarks.published.pictures import draw_dots
from benchmarks.published.tables import Table, plus_minus
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.datasets import fetch_alice, fetch_dependency_treebank, fetch_japanese_vowels
from sklearn_cvb.emissions import Gaussian, Poisson

# Sentences of the treebank whose words are measured, utterances that are learned from.
_N_SENTENCES, _N_UTTERANCES = 300, 30


class Series(NamedTuple):
    """What a series is called, its sequences of shape (length, n_columns), and its emissions."""

    title: str
    X: list
    kinds: tuple


def _shipped(name):
    """A data set of statsmodels."""
    try:
        module = import_module(f"statsmodels.datasets.{name}")
    except ImportError:
        raise SystemExit(
            "five of the series are data sets of statsmodels, which is not installed: "
            "`pip install statsmodels`, or run `series --parts alice,words,vowels`"
        ) from None
    return module.load_pandas().data


def nile(settings):
    """Flow of the Nile, a number a year."""
    flow = _shipped("nile")["volume"].to_numpy(float)
    return Series("Nile, yearly flow", [flow[:, None]], ("diag",))


def sunspots(settings):
    """Sunspots, a number a year: square roots."""
    activity = _shipped("sunspots")["SUNACTIVITY"].to_numpy(float)
    return Series("Sunspots, yearly, square root", [np.sqrt(activity)[:, None]], ("diag",))


def economy(settings):
    """Growth of the US economy by quarter: product, consumption, investment (%); unemployment."""
    data = _shipped("macrodata")
    growth = [100 * np.diff(np.log(data[name])) for name in ("realgdp", "realcons", "realinv")]
    return Series(
        "US economy, quarterly changes",
        [np.column_stack([*growth, np.diff(data["unemp"])])],
        ("diag", "full"),
    )


def elnino(settings):
    """Temperature of the sea off Peru: a year is a step of twelve months."""
    table = _shipped("elnino").drop(columns="YEAR").to_numpy(float)
    return Series("El Niño, years of 12 months", [table], ("diag", "full"))


def co2(settings):
    """Carbon dioxide at Mauna Loa: changes of the monthly mean, with months that are missing."""
    monthly = _shipped("co2")["co2"].resample("MS").mean().to_numpy(float)
    return Series("CO2, monthly changes", [np.diff(monthly)[:, None]], ("diag",))


def alice(settings):
    """Words in each sentence of Alice's Adventures in Wonderland."""
    sentences = fetch_alice(data_home=settings.data_home, download_if_missing=False).data
    counts = [len("".join(letters).split()) for letters in sentences]
    counts = np.array(counts[:200] if settings.quick else counts, float)
    return Series("Alice, words in a sentence", [counts[:, None]], ("poisson",))


def words(settings):
    """Letters in each word of news, a sequence a sentence."""
    treebank = fetch_dependency_treebank(
        remove_punctuation=True, data_home=settings.data_home, download_if_missing=False
    )
    sentences = treebank.words[: 40 if settings.quick else _N_SENTENCES]
    X = [np.array([[len(word)] for word in sentence], float) for sentence in sentences]
    return Series(f"News, letters in a word, {len(X)} sentences", X, ("poisson",))


def vowels(settings):
    """Utterances of the first speaker of Japanese Vowels."""
    found = fetch_japanese_vowels(data_home=settings.data_home)
    X = [x for x, who in zip(found.X_train, found.y_train, strict=True) if who == "1"]
    n_utterances = 10 if settings.quick else _N_UTTERANCES
    return Series("Japanese Vowels, speaker 1", X[:n_utterances], ("diag", "full"))


READERS = {
    "nile": nile,
    "sunspots": sunspots,
    "economy": economy,
    "elnino": elnino,
    "co2": co2,
    "alice": alice,
    "words": words,
    "vowels": vowels,
}

TITLES = {
    "em": "EM",
    "map": "EM with the prior",
    "vb": "VB",
    "cvb": "CVB",
    "gibbs": "Gibbs",
}
KINDS = {"diag": "diagonal", "full": "full covariance", "poisson": "Poisson"}
_OTHERS = ("em", "map", "vb")
# The first quarter of the US series' changes.
_FIRST_QUARTER = 1959.25


N_STATES, QUICK_N_STATES = (1, 2, 3, 4, 6, 8), (1, 2)
N_FOLDS, QUICK_N_FOLDS = 5, 2
N_SEEDS = 3
N_SAMPLER_SWEEPS, QUICK_N_SAMPLER_SWEEPS = 200, 10


class Model(NamedTuple):
    """How a model is shown, its class, its settings, whether EM's emissions get the prior."""

    title: str
    kind: type
    settings: dict
    has_prior: bool = False


MODELS = {
    "em": Model("EM", EMHMM, {}),
    "map": Model("EM with the prior", EMHMM, {"alpha": 0.1}, has_prior=True),
    "vb": Model("VB", VBHMM, {}),
    "cvb": Model("CVB", CVBHMM, {}),
    "gibbs": Model("Gibbs", GibbsHMM, {"max_iter": N_SAMPLER_SWEEPS}),
}


def emission(kind, has_prior=False):
    """What states emit; EM uses the prior where any of its numbers is given.

    `has_prior`: whether EM is to have the default prior of the others.
    """
    if kind == "poisson":
        return Poisson(shape_prior=1.0) if has_prior else Poisson()
    return Gaussian(kind, mean_precision_prior=0.01) if has_prior else Gaussian(kind)


def held_out(model, X, fold, n_folds):
    """Mean log density of what is held out, given what is learned from (nats per step).

    `X` (length, n_columns): one series, or several sequences.
    """
    if len(X) > 1:
        model.fit([x for i, x in enumerate(X) if i % n_folds != fold])
        return float(model.score(X[fold::n_folds]))
    (series,) = X
    begin, end = (len(series) * k // n_folds for k in (fold, fold + 1))
    rest = series.copy()
    rest[begin:end] = np.nan
    model.fit([rest])
    with_block, without = model.score_samples([series])[0], model.score_samples([rest])[0]
    n_observed = np.isfinite(series[begin:end]).all(axis=1).sum()
    return float((with_block - without) / n_observed)


def part(name, settings):
    """All models on a series, by emission and number of states.

    `name`: a key of `READERS`. Returns ``["found"][emission][model][number of states]``: for each
    seed its folds.
    """
    series = READERS[name](settings)
    numbers = QUICK_N_STATES if settings.quick else N_STATES
    found = {
        kind: {
            key: {str(n): _runs(MODELS[key], series.X, kind, n, settings) for n in numbers}
            for key in MODELS
        }
        for kind in series.kinds
    }
    n_steps = sum(map(len, series.X))
    return {
        "title": series.title,
        "n_steps": n_steps,
        "n_columns": series.X[0].shape[1],
        "found": found,
    }


def _runs(model, X, kind, n_components, settings):
    """For each seed the held-out log density of each fold."""
    changes = {}
    is_sampler = model.kind is GibbsHMM
    if is_sampler and settings.quick:
        changes = {"max_iter": QUICK_N_SAMPLER_SWEEPS}
    n_seeds = 1 if is_sampler or settings.quick else N_SEEDS
    n_folds = QUICK_N_FOLDS if settings.quick else N_FOLDS
    runs = []
    for seed in range(n_seeds):
        chosen = model.settings | changes | {"random_state": seed}
        fit = model.kind(n_components, emission=emission(kind, model.has_prior), **chosen)
        runs.append([held_out(fit, X, fold, n_folds) for fold in range(n_folds)])
    return runs


def regimes(settings):
    """States of the whole US economy under CVB: what the picture shows."""
    (table,) = READERS["economy"](settings).X
    model = CVBHMM(3, emission=Gaussian("full"), n_init=5, random_state=0).fit([table])
    return {
        "growth": table[:, 0].tolist(),
        "states": np.asarray(model.labels_[0]).tolist(),
        "means": model.means_[:, 0].tolist(),
    }


PARTS = {name: partial(part, name) for name in READERS} | {"regimes": regimes}


def cases(results):
    """Title and figures of each series and emission, by name."""
    return {
        f"{name}_{kind}": (_title(part, kind), found)
        for name, part in results.items()
        if isinstance(part, dict) and "found" in part
        for kind, found in part["found"].items()
    }


def _title(part, kind):
    width = part["n_columns"]
    columns = f" x {width}" if width > 1 else ""
    covariance = f", {KINDS[kind]}" if width > 1 or kind == "poisson" else ""
    return f"{part['title']} ({part['n_steps']:,}{columns}){covariance}"


def advantage(found, other, n_states):
    """By how much CVB is ahead in each fold, means over seeds (nats per step).

    `found`: by model and number of states. Returns shape (n_folds,).
    """
    return np.mean(found["cvb"][n_states], axis=0) - np.mean(found[other][n_states], axis=0)


def tables(results):
    """Held-out log density of all models, and how far CVB is ahead."""
    found = {name: _held_out(*case) for name, case in cases(results).items()}
    return found | {"advantages": _advantages(results), "counts": _counts(results)}


def _held_out(title, found):
    """A row for each model, a column for each number of states."""
    numbers = list(found["em"])
    lines = [
        [TITLES[key], *(plus_minus(np.mean(found[key][n], axis=1).tolist(), 3) for n in numbers)]
        for key in TITLES
    ]
    header = ["states", *numbers]
    return Table(header, lines, f"{title}: held-out log density, nats per step")


def _advantages(results):
    """How far CVB is ahead with few, some and many states; deviations are those of folds."""
    some = cases(results).values()
    numbers = [n for n in next(iter(some))[1]["em"] if n in ("2", "4", "8")]
    header = ["CVB minus", *(f"{TITLES[key]}, {n} states" for key in _OTHERS for n in numbers)]
    lines = [
        [title]
        + [plus_minus(advantage(found, key, n).tolist(), 3) for key in _OTHERS for n in numbers]
        for title, found in some
    ]
    return Table(header, lines, "Nats per step by which CVB is ahead (deviation of the folds)")


def _counts(results):
    """In how many cells with two states or more CVB is ahead, and clearly so."""
    lines = []
    for key in _OTHERS:
        found = [
            advantage(by_model, key, n)
            for _, by_model in cases(results).values()
            for n in by_model["em"]
            if n != "1"
        ]
        means = np.array([folds.mean() for folds in found])
        errors = np.array([folds.std(ddof=1) / np.sqrt(len(folds)) for folds in found])
        clear = np.abs(means) > 2 * errors
        ahead, behind = means > 0, means < 0
        lines.append(
            [TITLES[key], len(found), ahead.sum(), (ahead & clear).sum()]
            + [behind.sum(), (behind & clear).sum()]
        )
    header = ["CVB beside", "cells", "ahead", "clearly", "behind", "clearly"]
    title = "Series, emissions and numbers of states from 2 (clearly: by two standard errors)"
    return Table(header, lines, title)


def draw(results, folder):
    """How far CVB is ahead, and the regimes of the US economy."""
    draw_advantages(_advantages(results), folder)
    if "regimes" in results:
        _draw_regimes(results["regimes"], folder)


def draw_advantages(table, folder):
    """How far CVB is ahead with most states; EM without a prior falls out of any picture."""
    most = table.header[-1].split(", ")[1]
    columns = {
        table.header.index(f"{TITLES[key]}, {most}"): f"minus {TITLES[key]}"
        for key in _OTHERS
        if key != "em"
    }
    rows = [[row[0], *(row[i] for i in columns)] for row in table.rows]
    label = f"held-out log density of CVB minus that of others, {most} (nats per step)"
    panel = Table(["", *columns.values()], rows)
    draw_dots({"": panel}, folder / "series_held_out.png", label, nearly_zero=0.01)


def _draw_regimes(found, folder):
    """Growth by quarter; what is shaded are the states, darkest where growth is lowest."""
    from matplotlib.figure import Figure

    growth, states = np.array(found["growth"]), np.array(found["states"])
    rank = np.argsort(np.argsort(found["means"]))
    quarters = _FIRST_QUARTER + np.arange(len(growth)) / 4
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    panel = figure.subplots()
    shades = ("0.62", "0.82", "1.0")
    for quarter, state in zip(quarters, states, strict=True):
        panel.axvspan(quarter - 0.125, quarter + 0.125, color=shades[rank[state]], lw=0)
    panel.plot(quarters, growth, color="C0", lw=1.0)
    panel.axhline(0, color="0.3", lw=0.6)
    panel.set(ylabel="growth of product, %", xlim=(quarters[0], quarters[-1]))
    panel.set_title("US economy: three states of CVB, darkest where growth is lowest", fontsize=9)
    figure.savefig(folder / "series_regimes.png", dpi=110)
