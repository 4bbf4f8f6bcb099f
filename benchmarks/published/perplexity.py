"""Wang and Blunsom (2013), figures 6 and 7: test perplexity without a dictionary.

The first 1,000 sentences of the journal, nine tenths to learn from, one tenth to foresee; all
words count, those of the test sentences too. alpha and beta are learned (eq. 29) in both forms:
with expected counts put straight in, as printed, and with the expectation over counts that may be
zero, as the package has it. A third run keeps them fixed.
"""

from collections import Counter
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.published.monitor import curve
from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.taggers import CONCENTRATIONS
from benchmarks.published.text import first_sentences
from sklearn_cvb import CVBHMM, VBHMM, GibbsHMM, Samples, Symbols
from sklearn_cvb.chain.parameters.concentrations import presence_of_counts
from sklearn_cvb.chain.symbols import model as chain
from sklearn_cvb.plotting import algorithm_colours

N_STATES = 45
STATES = (5, 10, 20, 30, 45)
LEARNED, PLAIN, FIXED = "learned", "eq. 29 as printed", "fixed at 0.1, 0.03"
FORMS = {
    LEARNED: {"alpha": "auto", "beta": "auto"},
    PLAIN: {"alpha": "auto", "beta": "auto"},
    FIXED: {"alpha": 0.1, "beta": 0.03},
}


class Model(NamedTuple):
    """How a model is shown, its class, the arguments that set it apart."""

    title: str
    model: type
    arguments: dict


MODELS = {
    "vb": Model("VB", VBHMM, {}),
    "cvb-token": Model("CVB token", CVBHMM, {"update": "token"}),
    "cvb-sequence": Model("CVB sequence", CVBHMM, {"update": "sequence"}),
    "gibbs": Model("Gibbs", GibbsHMM, {}),
}


class Split(NamedTuple):
    """Sentences to learn from, sentences to foresee, and the words of both."""

    training: list
    test: list
    vocabulary: set


class Size(NamedTuple):
    """How much is run: sentences, sweeps and starts of the variational models and of Gibbs."""

    n_sentences: int
    sweeps: int
    starts: int
    gibbs_sweeps: int
    chains: int


# Runs of both figures of the paper: ten, 20,000 sweeps of Gibbs (three chains here).
PAPER = Size(1000, 50, 10, 20_000, 3)
FULL = Size(1000, 50, 3, 3000, 2)
FULL_STATES = Size(1000, 50, 2, 1000, 1)
QUICK = Size(150, 30, 2, 100, 1)
# A chain that begins where CVB ended is kept from the first sweep on.
AFTER = Samples(burn_in=0, thin=5)


def split(settings, n_sentences):
    """Nine tenths and one tenth of the first sentences."""
    text = first_sentences(settings, n_sentences)
    training, test = train_test_split(text.X, test_size=0.1, random_state=0)
    return Split(training, test, {word for sentence in text.X for word in sentence})


def unigram_perplexity(sentences):
    """Test perplexity of smoothed word frequencies, under the best of the six values of beta."""
    counts = Counter(word for sentence in sentences.training for word in sentence)
    n_tokens, n_words = sum(counts.values()), len(sentences.vocabulary)
    seen = np.array([counts[word] for sentence in sentences.test for word in sentence])
    return min(
        float(np.exp(-np.mean(np.log((seen + beta) / (n_tokens + n_words * beta)))))
        for beta in CONCENTRATIONS
    )


def as_printed():
    """Let CVB take every count for certain in eq. 29, while the context lasts."""
    return patch.object(
        chain, "presence", lambda counts, absence, cells: presence_of_counts(counts, cells)
    )


def due_sweeps(n_sweeps, n_scored=24):
    """Sweeps to score: all, or closest together in the beginning."""
    if n_sweeps <= FULL.sweeps:
        return range(1, n_sweeps + 1)
    return sorted(set(np.geomspace(1, n_sweeps, n_scored).astype(int).tolist()))


def curves_of(name, form, sentences, size, n_states, only_last=False):
    """Perplexity and concentrations by sweep, one curve a start.

    `name`: key of `MODELS`. `form`: key of `FORMS`. `only_last`: score after the last sweep only.
    """
    model = MODELS[name]
    is_gibbs = name == "gibbs"
    sweeps = size.gibbs_sweeps if is_gibbs else size.sweeps
    due = [sweeps] if only_last else due_sweeps(sweeps)
    scoring = {
        "perplexity": lambda fitted, X, y: fitted.perplexity(sentences.test),
        "alpha": lambda fitted, X, y: fitted.alpha_,
        "beta": lambda fitted, X, y: fitted.beta_,
    }
    curves = []
    for seed in range(size.chains if is_gibbs else size.starts):
        estimator = model.model(
            n_components=n_states,
            emission=Symbols(vocabulary=sentences.vocabulary, handle_unknown="error"),
            max_iter=sweeps,
            **({} if is_gibbs else {"tol": 0}),
            random_state=seed,
            **FORMS[form],
            **model.arguments,
        )
        with as_printed() if form == PLAIN else nullcontext():
            # The monitor scores nothing without a y; these models ignore it.
            y = [None] * len(sentences.training)
            curves.append(curve(estimator, sentences.training, y, scoring, due))
    return curves


def by_sweep(form, settings):
    """Figure 6: perplexity by sweep; figure 7: at the end of what is learned."""
    size = QUICK if settings.quick else PAPER if form == LEARNED else FULL
    n_states = 8 if settings.quick else N_STATES
    sentences = split(settings, size.n_sentences)
    # Counts of Gibbs are whole, and VB has no use for the other form: one form serves both.
    names = [name for name in MODELS if form != PLAIN or name.startswith("cvb")]
    models = {name: curves_of(name, form, sentences, size, n_states) for name in names}
    return {
        "n_states": n_states,
        "n_words": len(sentences.vocabulary),
        "unigram": unigram_perplexity(sentences),
        "models": models,
    }


def by_states(settings):
    """Perplexity after the last sweep by number of states, which the paper does not have."""
    size = QUICK if settings.quick else FULL_STATES
    sentences = split(settings, size.n_sentences)
    sizes = (4, 8) if settings.quick else STATES
    found = {}
    for name in MODELS:
        found[name] = {}
        for n_states in sizes:
            curves = curves_of(name, LEARNED, sentences, size, n_states, only_last=True)
            found[name][str(n_states)] = [one["perplexity"][-1] for one in curves]
    return {"gibbs_sweeps": size.gibbs_sweeps, "models": found}


def averaged(settings):
    """Samples from where CVB has ended, averaged: perplexity and seconds, by start.

    Beside them are samplers alone that take as long, and five times as long.
    """
    size = QUICK if settings.quick else FULL
    n_states, n_sweeps = (8, 100) if settings.quick else (N_STATES, 200)
    sentences = split(settings, size.n_sentences)
    known = Symbols(vocabulary=sentences.vocabulary, handle_unknown="error")
    usual = {"n_components": n_states, "emission": known} | FORMS[FIXED]
    found = {"n_sweeps": n_sweeps, "rows": {}}
    for seed in range(size.starts):
        cvb = CVBHMM(max_iter=size.sweeps, tol=0, random_state=seed, **usual)
        samplers = {
            "then samples": GibbsHMM(
                init=cvb, max_iter=n_sweeps, samples=AFTER, random_state=seed, **usual
            )
        } | {
            f"{times} x": GibbsHMM(max_iter=times * n_sweeps, random_state=seed, **usual)
            for times in (2, 5)
        }
        for name, model in ({"CVB": cvb} | samplers).items():
            begun = perf_counter()
            perplexity = model.fit(sentences.training).perplexity(sentences.test)
            row = found["rows"].setdefault(name, {"perplexity": [], "seconds": []})
            row["perplexity"].append(float(perplexity))
            row["seconds"].append(perf_counter() - begun)
    return found


PARTS = {form: partial(by_sweep, form) for form in FORMS}
PARTS |= {"states": by_states, "averaged": averaged}


def tables(results):
    """Perplexities after the last sweep, what was learned, and perplexity by number of states."""
    forms = [form for form in FORMS if form in results]
    tables = {}
    if forms:
        names = list(MODELS)
        header = ["alpha, beta", "unigram", *(MODELS[name].title for name in names)]
        lines = [
            [form, f"{results[form]['unigram']:.0f}"]
            + [_last(results[form]["models"].get(name), "perplexity") for name in names]
            for form in forms
        ]
        title = "Test perplexity per token after the last sweep, mean (standard deviation)"
        tables["forms"] = Table(header, lines, title)
        lines = [
            [form, parameter, *(_last(results[form]["models"].get(n), parameter, 3) for n in names)]
            for form in forms
            if form != FIXED
            for parameter in ("alpha", "beta")
        ]
        header = ["form", "", *(MODELS[name].title for name in names)]
        tables["learned"] = Table(header, lines, "What was learned")
    if "states" in results:
        found = results["states"]["models"]
        sizes = list(found["vb"])
        lines = [
            [MODELS[n].title, *(plus_minus(found[n][size], 0) for size in sizes)] for n in found
        ]
        tables["states"] = Table(["states", *sizes], lines, "Test perplexity, learned")
    if "averaged" in results:
        tables["averaged"] = _averaged_table(results["averaged"])
    return tables


def _averaged_table(found):
    n, rows = found["n_sweeps"], found["rows"]
    titles = {"CVB": "CVB", "then samples": f"CVB, then {n} sweeps of Gibbs, averaged"}
    titles |= {f"{times} x": f"Gibbs alone, {times * n} sweeps" for times in (2, 5)}
    lines = []
    for name, title in titles.items():
        seconds = np.mean(rows[name]["seconds"])
        if name == "then samples":
            seconds += np.mean(rows["CVB"]["seconds"])
        lines.append([title, plus_minus(rows[name]["perplexity"], 0), f"{seconds:.1f}"])
    title = "Averaging after CVB: test perplexity, and seconds of a fit with its scoring"
    return Table(["", "perplexity", "seconds"], lines, title)


def _last(curves, what, digits=0):
    return plus_minus([one[what][-1] for one in curves], digits) if curves else ""


def draw(results, folder):
    """Perplexity by sweep, of the runs at their end, and by number of states."""
    forms = [form for form in FORMS if form in results]
    pictures = {"sweeps": lambda: _draw_sweeps(results, forms)} if forms else {}
    if LEARNED in results:
        pictures["runs"] = lambda: _draw_runs(results[LEARNED]["models"])
    if "states" in results:
        pictures["states"] = lambda: _draw_states(results["states"]["models"])
    for name, picture in pictures.items():
        picture().savefig(folder / f"perplexity_{name}.png", dpi=110)


def _draw_sweeps(results, forms):
    """Figure 6, a panel for each form."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * len(forms) + 1.6, 4.0), layout="constrained")
    panels = figure.subplots(1, len(forms), sharex=True, sharey=True, squeeze=False)[0]
    for panel, form in zip(panels, forms, strict=True):
        _draw_form(panel, form, results[form])
    panels[0].set_ylabel("test perplexity per token")
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside right upper", frameon=False)
    return figure


def _draw_runs(models):
    """Figure 7: a dot for each run after its last sweep, and their mean."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    titles = [f"{MODELS[name].title}, {of[0]['sweeps'][-1]:,}" for name, of in models.items()]
    colours = algorithm_colours(MODELS[name].title for name in models)
    for place, (colour, curves) in enumerate(zip(colours, models.values(), strict=True)):
        ends = [one["perplexity"][-1] for one in curves]
        axes.plot(np.linspace(-0.2, 0.2, len(ends)) + place, ends, "o", ms=4, color=colour)
        axes.hlines(np.mean(ends), place - 0.3, place + 0.3, color=colour, lw=1.2)
    axes.set_xticks(range(len(titles)), labels=titles)
    axes.set(xlabel="algorithm, sweeps", ylabel="test perplexity per token")
    axes.grid(axis="y", alpha=0.3)
    return figure


def _draw_states(models):
    """Means and deviations by number of states."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    colours = algorithm_colours(MODELS[name].title for name in models)
    for marker, colour, (name, found) in zip("s^DP", colours, models.items(), strict=True):
        means = [np.mean(values) for values in found.values()]
        spreads = [np.std(values) for values in found.values()]
        x = [int(size) for size in found]
        style = {"marker": marker, "markersize": 4, "capsize": 2, "lw": 1.2, "color": colour}
        axes.errorbar(x, means, spreads, label=MODELS[name].title, **style)
    axes.set(xlabel="states", ylabel="test perplexity per token")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def _draw_form(panel, form, found):
    colours = algorithm_colours(model.title for model in MODELS.values())
    for marker, colour, (name, model) in zip("s^DP", colours, MODELS.items(), strict=True):
        curves = found["models"].get(name)
        if curves:
            mean = np.mean([one["perplexity"] for one in curves], axis=0)
            style = {"marker": marker, "markersize": 3, "lw": 1.2, "color": colour}
            panel.plot(curves[0]["sweeps"], mean, label=model.title, **style)
    panel.axhline(found["unigram"], color="0.5", lw=0.9, ls="--", label="unigram")
    panel.set(xscale="log", title=form, xlabel="sweeps (logarithmic scale)")
    panel.xaxis.set_major_formatter("{x:,g}")
    panel.grid(alpha=0.3)
