"""Word alignment (Vogel et al. 1996; Och and Ney 2003): which links are found on XL-WA?

English sentences and their Danish, Spanish, Hungarian and Dutch translations, in small letters.
Learned from all 1,352 pairs of a language without any link, both directions; F1 is of the 245 test
pairs. Other libraries align the same pairs in the same process.
"""

from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.published.tables import Table
from sklearn_cvb import (
    CVBAlignmentHMM,
    EMAlignmentHMM,
    GibbsAlignmentHMM,
    Samples,
    VBAlignmentHMM,
    fit_agreeing,
    read_pharaoh,
    symmetrize,
)
from sklearn_cvb.datasets import fetch_xl_wa
from sklearn_cvb.metrics import alignment_f1

# Of each of sil-thot's models in a chain.
_SWEEPS = 5


def thot_hmm(X):
    """Five iterations of EM for IBM model 1, then five for the hidden Markov model."""
    from thot.alignment import HmmAlignmentModel, Ibm1AlignmentModel

    first = _trained(Ibm1AlignmentModel(), X, is_bayesian=False)
    return _links(_trained(HmmAlignmentModel(first), X, is_bayesian=False, is_new=False), X)


def thot_hmm_vb(X):
    """The same by variational Bayes."""
    from thot.alignment import HmmAlignmentModel, Ibm1AlignmentModel

    first = _trained(Ibm1AlignmentModel(), X, is_bayesian=True)
    return _links(_trained(HmmAlignmentModel(first), X, is_bayesian=True, is_new=False), X)


def thot_fast_align(X):
    """fast_align's model by variational Bayes, five iterations."""
    from thot.alignment import FastAlignModel

    return _links(_trained(FastAlignModel(), X, is_bayesian=True), X)


def _trained(model, X, is_bayesian, is_new=True):
    model.variational_bayes = is_bayesian
    if is_new:
        for source, target in X:
            model.add_sentence_pair(source, target, 1)
    model.start_training()
    for _ in range(_SWEEPS):
        model.train()
    model.end_training()
    return model


def _links(model, X):
    found = []
    for source, target in X:
        matrix = model.get_best_alignment(source, target)[1].to_numpy()
        found.append([(int(i), int(j)) for i, j in zip(*matrix.nonzero(), strict=True)])
    return found


def eflomal(X):
    """eflomal with its defaults, whose one run aligns both directions; forward links."""
    return _eflomal(X)[0]


def _eflomal(X):
    from eflomal import Aligner

    sides = [[" ".join(pair[k]) + "\n" for pair in X] for k in range(2)]
    with TemporaryDirectory() as folder:
        names = [str(Path(folder, name)) for name in ("forward", "backward")]
        Aligner().align(
            *sides, links_filename_fwd=names[0], links_filename_rev=names[1], quiet=True
        )
        return [read_pharaoh(name) for name in names]


def both(align, X, turned):
    """Links of either direction, both as (source, target).

    `X`, `turned`: sentence pairs, and the same turned round.
    """
    if align is eflomal:
        return _eflomal(X)
    return [align(X), [[(b, a) for a, b in links] for links in align(turned)]]


PEERS = {
    "thot-hmm": ("sil-thot, HMM by EM", thot_hmm),
    "thot-hmm-vb": ("sil-thot, HMM by VB", thot_hmm_vb),
    "thot-fast-align": ("sil-thot, fast_align by VB", thot_fast_align),
    "eflomal": ("eflomal, sampling with fertility", eflomal),
}

LANGUAGES = {"es": "Spanish", "hu": "Hungarian", "nl": "Dutch", "da": "Danish"}
GIBBS = {"max_iter": 200, "random_state": 0, "samples": Samples(thin=1)}
# Title, model, and whether both directions learn to agree.
MODELS = {
    "em": ("EM", EMAlignmentHMM(), False),
    "vb": ("VB", VBAlignmentHMM(), False),
    "vb-.01": ("VB, beta .01", VBAlignmentHMM(beta=0.01), False),
    "cvb": ("CVB", CVBAlignmentHMM(), False),
    "cvb-.01": ("CVB, beta .01", CVBAlignmentHMM(beta=0.01), False),
    "cvb-null": ("CVB, p_null learned", CVBAlignmentHMM(p_null=(1.0, 1.0)), False),
    "gibbs": ("Gibbs, 200 sweeps", GibbsAlignmentHMM(**GIBBS), False),
    "agree": ("CVB, both agree", CVBAlignmentHMM(max_iter=1), True),
}
QUICK_MODELS = "em", "cvb", "agree"
JOINED = {
    "intersection": "intersection",
    "union": "union",
    "grow-diag-final-and": "grow-diag",
    "product": "product",
}
COLUMNS = ["English first", "other first", "mean", *JOINED.values(), "seconds"]


def processor_seconds():
    """Of this process and of those that it has started and that have ended."""
    parts = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    return sum(part.ru_utime + part.ru_stime for part in parts)


def fitted(model, X, turned, agrees):
    """Link posteriors of both directions."""
    if agrees:
        return tuple(one.link_proba_ for one in fit_agreeing(model, X))
    return model.fit(X).link_proba_, model.fit(turned).link_proba_


def forward_links(tables):
    """Links of a forward model as (source, target)."""
    return [[(i, j) for j, i in links] for links in backward_links(tables)]


def backward_links(tables):
    """Links of a backward model as (source, target)."""
    found = []
    for table in tables:
        best = table.argmax(axis=1)
        found.append([(i, int(j)) for i, j in enumerate(best) if j < table.shape[1] - 1])
    return found


def scored(gold, forward, backward, tables):
    """F1 (%) of either direction and of the ways to join them.

    `gold`, `forward`, `backward`: links (source, target). `tables`: link posteriors of both
    directions, for the product.
    """
    sides = zip(COLUMNS[:2], (forward, backward), strict=True)
    found = {name: 100 * alignment_f1(gold, links) for name, links in sides}
    found["mean"] = (found[COLUMNS[0]] + found[COLUMNS[1]]) / 2
    flipped = [[(b, a) for a, b in links] for links in backward]
    for method, column in JOINED.items():
        if method != "product":
            found[column] = 100 * alignment_f1(gold, symmetrize(forward, flipped, method))
        elif tables is not None:
            found[column] = 100 * alignment_f1(gold, symmetrize(*tables, "product"))
    return found


def part(language, settings):
    """All models and peers on a language."""
    corpus = fetch_xl_wa(language=language, lowercase=True, data_home=settings.data_home)
    chosen = np.flatnonzero(np.array(corpus.subset) == "test")
    X, gold = corpus.data, [corpus.target[i] for i in chosen]
    turned = [(target, source) for source, target in X]
    # Nothing is compiled within what is timed.
    for _, model, _ in MODELS.values():
        type(model)(max_iter=1).fit(X[:3])
    found = {}
    for key in QUICK_MODELS if settings.quick else MODELS:
        _, model, agrees = MODELS[key]
        begin = processor_seconds()
        tables = tuple([side[i] for i in chosen] for side in fitted(model, X, turned, agrees))
        seconds = processor_seconds() - begin
        sides = forward_links(tables[0]), backward_links(tables[1])
        found[key] = scored(gold, *sides, tables) | {"seconds": seconds}
    if not settings.quick:
        for key, (_, align) in PEERS.items():
            found[key] = peer(align, X, turned, chosen, gold)
    return {"models": found}


def peer(align, X, turned, chosen, gold):
    """What another library finds; why not, where it is not installed."""
    begin = processor_seconds()
    try:
        sides = both(align, X, turned)
    except ImportError as error:
        return {"skipped": f"not run: {error.name or 'it'} is not installed"}
    seconds = processor_seconds() - begin
    forward, backward = ([side[i] for i in chosen] for side in sides)
    return scored(gold, forward, backward, None) | {"seconds": seconds}


PARTS = {name: partial(part, name) for name in LANGUAGES}


def tables(results):
    """F1 of all models, a table for each language."""
    titles = {key: title for key, (title, *_) in (MODELS | PEERS).items()}
    return {
        language.lower(): Table(
            ["", *COLUMNS],
            [_line(titles[key], one) for key, one in results[name]["models"].items()],
            f"{language}: F1 (%), and processor seconds of both directions",
        )
        for name, language in LANGUAGES.items()
        if name in results
    }


def _line(title, found):
    if "skipped" in found:
        return [f"{title} ({found['skipped']})", *[""] * len(COLUMNS)]
    return [title, *(f"{found[column]:.1f}" if column in found else "" for column in COLUMNS)]


def draw(results, folder):
    """F1 of the mean of both directions, and of the best way to join them."""
    import matplotlib.pyplot as plt

    titles = {key: title for key, (title, *_) in (MODELS | PEERS).items()}
    names = [name for name in LANGUAGES if name in results]
    figure, panels = plt.subplots(
        1,
        len(names),
        figsize=(2.6 * len(names) + 2.4, 4.2),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for panel, name in zip(panels[0], names, strict=True):
        found = results[name]["models"]
        keys = [key for key in found if "mean" in found[key]]
        for column, marker in (("mean", "o"), ("intersection", "<"), ("product", "D")):
            rows = [i for i, key in enumerate(keys) if column in found[key]]
            values = [found[keys[i]][column] for i in rows]
            panel.plot(values, rows, marker, markersize=5, label=column)
        panel.set(title=LANGUAGES[name])
        panel.grid(alpha=0.3)
        panel.set_yticks(range(len(keys)), labels=[titles[key] for key in keys])
    panels[0][0].invert_yaxis()
    figure.supxlabel("F1 (%)")
    figure.legend(
        *panels[0][0].get_legend_handles_labels(),
        loc="outside upper right",
        ncols=3,
        frameon=False,
        title="both directions",
    )
    figure.savefig(folder / "alignment_f1.png", dpi=110)
    plt.close(figure)
