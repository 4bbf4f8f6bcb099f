"""What knowledge of a language is worth: heads of Universal Dependencies, step by step.

Development and test file of three treebanks. Learned from the tags of all sentences of up to 20
words, without punctuation, and all are parsed; no model sees a head.
"""

import numpy as np

from benchmarks.published.tables import Table
from sklearn_cvb import CVBDMV, EMDMV, VBDMV, GibbsDMV, Valence
from sklearn_cvb.datasets import read_dependencies
from sklearn_cvb.datasets.corpora import corpus_folder
from sklearn_cvb.dependency.arc_weights import PRESETS
from sklearn_cvb.metrics import directed_accuracy
from sklearn_cvb.plotting import algorithm_colours

# Title, and the file's name before the part.
TREEBANKS = {
    "swedish": ("Swedish", "sv_talbanken"),
    "turkish": ("Turkish", "tr_boun"),
    "indonesian": ("Indonesian", "id_gsd"),
}
LONGEST, SCORED, SWEEPS = 20, (10, 40), 40

MODELS = {
    "EM": EMDMV(),
    "VB": VBDMV(alpha=0.1),
    "CVB": CVBDMV(alpha=0.1),
    "Gibbs": GibbsDMV(alpha=0.1, max_iter=300, random_state=0),
    "Viterbi EM": EMDMV(update="viterbi", alpha=1.0),
}
QUICK_MODELS = ("EM", "CVB")
BASELINES = {
    "head is the next word": lambda n: [*range(2, n + 1), 0],
    "head is the previous word": lambda n: list(range(n)),
}


def kind_of(key):
    """Which kind of knowledge a key of the preset is."""
    head, child, *side = key
    if head is None:
        return "roots"
    if side:
        return "the side of conjunctions" if child == "CCONJ" else "the side of names"
    return "leaves" if child is ... else "rules"


def known(*kinds):
    """The keys of the preset that are of these kinds; None for none."""
    return {key: x for key, x in PRESETS["ud"].items() if kind_of(key) in kinds} or None


KINDS = ("leaves", "rules", "the side of names", "the side of conjunctions", "roots")
LADDER = {
    "nothing": None,
    "leaves": known(*KINDS[:1]),
    "leaves, rules": known(*KINDS[:2]),
    "leaves, rules, sides": known(*KINDS[:4]),
    'all ("ud")': known(*KINDS),
}


def changed(kind, x):
    """All that is known, with another number for one kind of it."""
    return PRESETS["ud"] | dict.fromkeys(known(kind), x)


# What is left out, or has another number.
ABLATION = {
    f"without {kind}": known(*(other for other in KINDS if other != kind)) for kind in KINDS
}
ABLATION["without leaves and rules"] = known(*KINDS[2:])
ABLATION |= {f"rules: {x} instead of 5": changed("rules", x) for x in (20, 100)}
ABLATION |= {f"leaves: {x} instead of 0.01": changed("leaves", x) for x in (0.1, 0.001)}


def part(name, settings):
    """All models under each step of the ladder, and what each kind of knowledge brings."""
    folder, file = corpus_folder(settings.data_home) / "ud", TREEBANKS[name][1]
    paths = [folder / f"{file}-ud-{part}.conllu.xz" for part in ("dev", "test")]
    read = [read_dependencies(path, remove=["PUNCT"]) for path in paths]
    tags = [sentence for corpus in read for sentence in corpus.data]
    gold = [heads for corpus in read for heads in corpus.target]
    if settings.quick:
        tags, gold = tags[:400], gold[:400]
    names, steps = (QUICK_MODELS if settings.quick else list(MODELS)), list(LADDER)
    found = {
        "n_sentences": len(tags),
        "n_learned": sum(len(sentence) <= LONGEST for sentence in tags),
        "baselines": {
            title: scores(gold, [heads(len(sentence)) for sentence in tags])
            for title, heads in BASELINES.items()
        },
        "ladder": {
            model: {step: accuracy(MODELS[model], LADDER[step], tags, gold) for step in steps}
            for model in names
        },
        "ablation": {
            title: accuracy(MODELS["CVB"], weights, tags, gold)
            for title, weights in ABLATION.items()
        },
    }
    form = {"valence": Valence(True, backoff="head")}
    found["extended"] = accuracy(CVBDMV(alpha=0.1, **form), LADDER[steps[-1]], tags, gold)
    found["gold"] = of_gold_heads(tags, gold)
    return found


def accuracy(model, arc_weights, tags, gold):
    """Shares of right heads of a model that knows so much."""
    settings = {"arc_weights": arc_weights, "vocabulary": vocabulary_of(tags)}
    settings["handle_unknown"] = "error"
    if not isinstance(model, GibbsDMV):
        settings |= {"max_iter": SWEEPS, "tol": 0.0}
    fitted = type(model)(**model.get_params(deep=False) | settings)
    fitted.fit([sentence for sentence in tags if len(sentence) <= LONGEST])
    return scores(gold, fitted.predict(tags))


def vocabulary_of(tags):
    """All tags of a treebank."""
    return sorted({tag for sentence in tags for tag in sentence})


def of_gold_heads(tags, gold):
    """Shares of right heads of a model that has counted those of all sentences it can count."""
    pairs = []
    for sentence, heads in zip(tags, gold, strict=True):
        try:
            EMDMV(max_iter=1).fit([["x"] * len(heads)], [heads])
        except ValueError:
            continue
        pairs.append((sentence, heads))
    model = EMDMV(alpha=0.1, max_iter=1, vocabulary=vocabulary_of(tags), handle_unknown="error")
    model.fit(*map(list, zip(*pairs, strict=True)))
    return scores(gold, model.predict(tags))


def scores(gold, found):
    """Directed accuracy on sentences of up to this many words."""
    shares = []
    for limit in SCORED:
        chosen = [i for i, heads in enumerate(gold) if len(heads) <= limit]
        shares.append(directed_accuracy([gold[i] for i in chosen], [found[i] for i in chosen]))
    return shares


# Tables and a picture


def tables_of(results):
    """Accuracies by model and by what is known, and without each kind of knowledge."""
    names = [name for name in TREEBANKS if name in results]
    if not names:
        return {}
    found = [results[name] for name in names]
    columns = [f"{TREEBANKS[name][0]}, to {limit}" for name in names for limit in SCORED]
    rows = [
        [f"{model}: {step}", *_cells([one["ladder"][model][step] for one in found])]
        for model in found[0]["ladder"]
        for step in LADDER
    ]
    rows += [[title, *_cells([one["baselines"][title] for one in found])] for title in BASELINES]
    rows.append(["learned from gold heads", *_cells([one["gold"] for one in found])])
    title = "Universal Dependencies: directed accuracy (%) by algorithm and by what is known"
    whole = [one["ladder"]["CVB"]['all ("ud")'] for one in found]
    lines = [["nothing left out", whole]]
    lines += [[title, [one["ablation"][title] for one in found]] for title in ABLATION]
    lines.append(["extended valence, back-off to head", [one["extended"] for one in found]])
    ablation = [[title, *_cells(cells), *_means(cells)] for title, cells in lines]
    header = ["CVB, alpha .1", *columns, *(f"mean, to {limit}" for limit in SCORED)]
    caption = "Universal Dependencies: what each kind of knowledge brings, directed accuracy (%)"
    return {
        "knowledge": Table(["algorithm: what is known", *columns], rows, title),
        "ablation": Table(header, ablation, caption),
    }


def _cells(shares):
    return [f"{100 * share:.1f}" for one in shares for share in one]


def _means(shares):
    return [f"{100 * mean:.1f}" for mean in np.mean(shares, axis=0)]


def draw_ladder(results, folder):
    """Directed accuracy by what is known, a line for each algorithm, a panel for each treebank."""
    from matplotlib.figure import Figure

    names = [name for name in TREEBANKS if name in results]
    if not names:
        return
    figure = Figure(figsize=(3.4 * len(names) + 0.6, 4.2), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    places = range(len(LADDER))
    for panel, name in zip(panels, names, strict=True):
        found = results[name]
        colours = algorithm_colours(found["ladder"])
        lines = zip(found["ladder"].items(), "os^Dv", colours, strict=False)
        for (model, steps), marker, colour in lines:
            values = [100 * steps[step][0] for step in LADDER]
            panel.plot(places, values, marker=marker, markersize=5, label=model, color=colour)
        for style, title, share in (
            ("--", "learned from gold heads", found["gold"][0]),
            (":", "the next word", found["baselines"]["head is the next word"][0]),
        ):
            panel.axhline(100 * share, color="0.4", linestyle=style, linewidth=1, label=title)
        panel.set_xticks(places, labels=list(LADDER), rotation=35, ha="right")
        panel.set(title=TREEBANKS[name][0], ylim=(0, 85))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("directed accuracy (%), up to 10 words")
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(folder / "dmv_knowledge.png", dpi=110)
