"""What you know, and what it brings: dictionaries, labels, heads, weights, links, brackets, tables.

Five tasks, each learned without any knowledge and with more and more of it. Accuracies are of
sentences about which nothing was said one by one. A part of its own is about sentences tagged by
hand beside a dictionary that lists wrong tags.
"""

from functools import partial

import numpy as np

from benchmarks.published.dmv_knowledge import TREEBANKS
from benchmarks.published.hand_labels import label_table, labels
from benchmarks.published.tables import Table
from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    EMHMM,
    CVBAlignmentHMM,
    CVBHMMTagger,
    HMMParameters,
    Symbols,
    tag_dictionary_from,
)
from sklearn_cvb.datasets import fetch_treebank_trees, fetch_wsj, fetch_xl_wa, read_dependencies
from sklearn_cvb.datasets.corpora import corpus_folder
from sklearn_cvb.metrics import (
    alignment_f1,
    bracket_f1,
    directed_accuracy,
    many_to_one_accuracy,
    one_to_one_accuracy,
    token_accuracy,
)

TITLES = {
    "tags": "Tags (journal, 1,000 sentences)",
    "heads": "Heads (Swedish, to 20 words)",
    "links": "Links (English and Dutch)",
    "brackets": "Brackets (tags of the journal, to 10 words)",
    "states": "States (a loaded die)",
}
# Minutes that one of each takes by hand, by our reckoning; nothing of it was measured.
MINUTES = {"tags": 1.0, "heads": 3.0, "links": 2.0, "brackets": 3.0, "arcs": 1.0, "words": 0.1}


def row(name, what, minutes, score):
    """What is known, what it is called, how long it takes, and what comes out."""
    return {"known": name, "called": what, "minutes": minutes, "score": float(score)}


def tags(settings):
    """A dictionary, how often each tag was seen, and sentences with their tags."""
    corpus = fetch_wsj(data_home=settings.data_home)
    n = 100 if settings.quick else 1000
    X, y, rest = corpus.data[:n], corpus.target[:n], slice(n, 4 * n)
    n_told = n // 10
    told = [*y[:n_told], *[None] * (n - n_told)]
    counted = tag_dictionary_from(corpus.data[rest], corpus.target[rest], weights=True)
    listed = {word: list(entry) for word, entry in counted.items()}
    n_tags = len({tag for sentence in y for tag in sentence})

    def right(model, labels=None):
        found = model.set_params(random_state=0).fit(X, labels).labels_
        return token_accuracy(y[n_told:], list(found[n_told:]))

    classes = CVBHMM(n_tags, random_state=0).fit(X).labels_
    minutes = MINUTES["words"] * len(listed)
    return [
        row(
            "nothing (classes, each by its usual tag)",
            "",
            0,
            many_to_one_accuracy(y, list(classes)),
        ),
        row(
            f"tags of {n_told} sentences",
            "y",
            MINUTES["tags"] * n_told,
            right(CVBHMMTagger(), told),
        ),
        row(
            f"a dictionary of {len(listed):,} words",
            "tag_dictionary",
            minutes,
            right(CVBHMMTagger(listed)),
        ),
        row(
            "the dictionary, and the sentences",
            "tag_dictionary, y",
            minutes + MINUTES["tags"] * n_told,
            right(CVBHMMTagger(listed), told),
        ),
        row(
            "how often each word had each tag", "tag_dictionary", None, right(CVBHMMTagger(counted))
        ),
    ]


def heads(settings):
    """Which tags take which, and sentences with their heads."""
    folder, file = corpus_folder(settings.data_home) / "ud", TREEBANKS["swedish"][1]
    read = [
        read_dependencies(folder / f"{file}-ud-{part}.conllu.xz", remove=["PUNCT"])
        for part in ("dev", "test")
    ]
    pairs = [pair for one in read for pair in zip(one.data, one.target, strict=True)]
    pairs = [(x, h) for x, h in pairs if len(x) <= 20][: 200 if settings.quick else None]
    X, gold = map(list, zip(*pairs, strict=True))
    n_told = 20 if settings.quick else 100
    told = projective(X, gold, n_told)

    def right(weights, y=None):
        model = CVBDMV(arc_weights=weights, max_iter=40).fit(X, y)
        return directed_accuracy(gold[n_told:], list(model.labels_[n_told:]))

    by_hand, rules = MINUTES["heads"] * n_told, MINUTES["arcs"] * 25
    return [
        row("nothing", "", 0, right(None)),
        row("which tags take which: 25 lines", "arc_weights", rules, right("ud")),
        row(f"heads of {n_told} sentences", "y", by_hand, right(None, told)),
        row("both", "arc_weights, y", rules + by_hand, right("ud", told)),
    ]


def projective(X, gold, n_told):
    """The heads of the first sentences; None where no projective tree with one root has them."""
    found = [None] * len(X)
    for i in range(n_told):
        try:
            CVBDMV(max_iter=1).fit([X[i]], [gold[i]])
        except ValueError:
            continue
        found[i] = gold[i]
    return found


def links(settings):
    """Words that translate each other, and pairs with their links."""
    corpus = fetch_xl_wa(language="nl", lowercase=True, data_home=settings.data_home)
    X, gold = corpus.data, corpus.target
    which = [i for i, known in enumerate(gold) if known is not None]
    n_told = 10 if settings.quick else 100
    told, scored = which[:n_told], which[n_told:]
    y = [gold[i] if i in set(told) else None for i in range(len(X))]
    dictionary = {}
    for i in told:
        for k, j in gold[i]:
            dictionary.setdefault(X[i][0][k], {}).setdefault(X[i][1][j], 1.0)

    def right(model, y=None):
        model.fit(X, y)
        return alignment_f1([gold[i] for i in scored], [model.labels_[i] for i in scored])

    n_entries = sum(map(len, dictionary.values()))
    return [
        row("nothing", "", 0, right(CVBAlignmentHMM())),
        row(
            f"{n_entries:,} translations",
            "dictionary",
            MINUTES["words"] * n_entries,
            right(CVBAlignmentHMM(dictionary=dictionary)),
        ),
        row(
            f"links of {n_told} pairs", "y", MINUTES["links"] * n_told, right(CVBAlignmentHMM(), y)
        ),
    ]


def brackets(settings):
    """Sentences whose constituents are known, without labels."""
    trees = fetch_treebank_trees(data_home=settings.data_home).target
    trees = [tree for tree in trees if 3 <= len(tree.leaves()) <= 10][
        : 100 if settings.quick else None
    ]
    X = [[tag for _, tag in tree.pos()] for tree in trees]
    spans = [spans_of(tree) for tree in trees]
    n_told = len(X) // 4
    told = [*spans[:n_told], *[None] * (len(X) - n_told)]

    def right(y=None):
        model = CVBPCFG(
            n_components=10, random_state=0, n_init=1, max_iter=20 if settings.quick else 60
        )
        found = model.fit(X, y).predict(X[n_told:])
        return bracket_f1(trees[n_told:], list(found), labelled=False)

    return [
        row("nothing", "", 0, right()),
        row(f"brackets of {n_told} sentences", "y", MINUTES["brackets"] * n_told, right(told)),
    ]


def spans_of(tree):
    """Begins and ends of a tree's constituents of several words."""
    found, begin = [], 0
    for node in tree.subtrees(lambda node: len(node.leaves()) > 1):
        begin = leaves_before(tree, node)
        found.append((begin, begin + len(node.leaves())))
    return found


def leaves_before(tree, node):
    """How many words of a tree stand before a node's."""
    paths = {
        id(tree[path]): path for path in tree.treepositions() if not isinstance(tree[path], str)
    }
    path = paths[id(node)]
    return sum(position < path for position in tree.treepositions("leaves"))


def states(settings):
    """What the dice show: tables that stay as they are."""
    rng = np.random.default_rng(0)
    die = Symbols(range(1, 7), handle_unknown="error")
    fair, loaded = np.full(6, 1 / 6), np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
    moves = np.array([[0.95, 0.05], [0.1, 0.9]])
    hidden, shown, state = [], [], 0
    for _ in range(300 if settings.quick else 3000):
        hidden.append(state)
        shown.append(int(rng.choice(6, p=(fair, loaded)[state])) + 1)
        state = int(rng.choice(2, p=moves[state]))
    dice = HMMParameters(emissionprob=np.array([fair, loaded]))
    both = HMMParameters(emissionprob=np.array([fair, loaded]), transmat=moves)

    def right(**known):
        model = EMHMM(2, emission=die, n_init=3, random_state=0, max_iter=300, **known)
        return one_to_one_accuracy([hidden], [model.fit([shown]).labels_[0]])

    return [
        row("nothing", "", 0, right()),
        row("what each die shows", "init, fixed", 1, right(init=dice, fixed={"emissions": True})),
        row(
            "that, and how often they change",
            "init, fixed",
            2,
            right(init=both, fixed={"emissions": True, "transitions": True}),
        ),
    ]


def part(function, settings):
    """The rows of a task, as a part of the experiment."""
    return {"rows": function(settings)}


TASKS = {"tags": tags, "heads": heads, "links": links, "brackets": brackets, "states": states}
PARTS = {name: partial(part, function) for name, function in TASKS.items()} | {"labels": labels}


def minutes_of(one):
    """How long a row takes by hand; nothing where it is counted, not made."""
    return "" if one["minutes"] is None else f"{one['minutes']:,.0f}"


def tables(results):
    """What is known, and what comes out of it."""
    found = {}
    for name, title in TITLES.items():
        if name in results:
            cells = [
                [one["known"], one["called"], minutes_of(one), f"{100 * one['score']:.1f}"]
                for one in results[name]["rows"]
            ]
            header = ["what you know", "parameter", "minutes, reckoned", "% right"]
            found[name] = Table(header, cells, title)
    if "labels" in results:
        found["labels"] = label_table(results["labels"])
    return found


def draw(results, folder):
    """One panel a task: what is right by what is known."""
    from matplotlib.figure import Figure

    names = [name for name in TITLES if name in results]
    sizes = [len(results[name]["rows"]) for name in names]
    figure = Figure(figsize=(7.5, 0.36 * sum(sizes) + 0.5 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), 1, squeeze=False, height_ratios=sizes)[:, 0]
    for panel, name in zip(panels, names, strict=True):
        rows = results[name]["rows"][::-1]
        scores = [100 * one["score"] for one in rows]
        bars = panel.barh([one["known"] for one in rows], scores, color="#0072b2")
        bars[-1].set_color("#999999")
        panel.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
        panel.set_xlim(0, 108)
        panel.set_title(TITLES[name], fontsize=9, loc="left")
        panel.tick_params(labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("% right")
    figure.savefig(folder / "knowledge_gains.png", dpi=110)
