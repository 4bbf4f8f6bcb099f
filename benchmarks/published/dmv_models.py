"""Models of the experiment on heads: chains of fits, each from where the one before ended."""

from typing import Any, NamedTuple

from benchmarks.published.dmv_treebanks import RULES
from sklearn_cvb import CVBDMV, EMDMV, VBDMV, GibbsDMV, Valence


class Stage(NamedTuple):
    """One fit."""

    model: type
    settings: dict[str, Any]  # arguments of its constructor
    longest: int | None = None  # of the sentences that it learns from; None for that of the column
    # Whether it is given the heads, of sentences that have a projective tree with one root.
    gold: bool = False
    # Which classes of words take which; where there are any, it is told of leaves, too.
    rules: tuple = ()


class Model(NamedTuple):
    """How a chain of fits is shown, and its fits."""

    title: str
    stages: tuple[Stage, ...]


# Forms of the model: p(a | h, d, v), this backed off to p(a | h, d), and p(a | h, d) backed off to
# p(a | d).
VALENCE = {"valence": Valence(True)}
HEAD = {"valence": Valence(True, backoff="head")}
DIRECTION = {"valence": Valence(backoff="direction")}


def _vb(form):
    return Stage(VBDMV, {"alpha": 0.1} | form)


def _cvb(form, alpha=0.1):
    return Stage(CVBDMV, {"alpha": alpha} | form)


def _viterbi(form, alpha=1.0):
    return Stage(EMDMV, {"update": "viterbi", "alpha": alpha} | form)


def _known(stage, rules=RULES):
    return (stage._replace(rules=rules),)


# The annotation of a language may have the auxiliary below the verb.
_WITHOUT_AUXILIARIES = tuple(pair for pair in RULES if "auxiliary" not in pair)
_GIBBS = {"alpha": 0.1, "max_iter": 300, "random_state": 0}
MODELS = {
    "em": Model("EM", (Stage(EMDMV, {}),)),
    "vb-1": Model("VB, alpha 1", (Stage(VBDMV, {"alpha": 1.0}),)),
    "vb-.1": Model("VB, alpha .1", (_vb({}),)),
    "cvb-1": Model("CVB, alpha 1", (_cvb({}, 1.0),)),
    "cvb-.1": Model("CVB, alpha .1", (_cvb({}),)),
    "cvb-short": Model(
        "CVB, alpha .1, up to 10 tokens first", (_cvb({})._replace(longest=10), _cvb({}))
    ),
    "gibbs-.1": Model("Gibbs, alpha .1, one chain", (Stage(GibbsDMV, _GIBBS),)),
    "valence-cvb": Model("CVB, alpha .1, extended valence", (_cvb(VALENCE),)),
    "head-vb": Model("VB, alpha .1, extended valence, back-off to head", (_vb(HEAD),)),
    "head-cvb": Model("CVB, alpha .1, extended valence, back-off to head", (_cvb(HEAD),)),
    "direction-em": Model("EM, back-off to direction", (Stage(EMDMV, DIRECTION),)),
    "direction-vb": Model("VB, alpha .1, back-off to direction", (_vb(DIRECTION),)),
    "direction-cvb": Model("CVB, alpha .1, back-off to direction", (_cvb(DIRECTION),)),
    "viterbi": Model("Viterbi EM", (_viterbi({}),)),
    "viterbi-cvb": Model("Viterbi EM, then CVB", (_viterbi({}), _cvb({}))),
    "viterbi-direction": Model("Viterbi EM, back-off to direction", (_viterbi(DIRECTION),)),
    "staged": Model(
        "Viterbi EM, then CVB, both with back-off to direction",
        (_viterbi(DIRECTION), _cvb(DIRECTION)),
    ),
    "staged-head": Model(
        "... then CVB, extended valence, back-off to head",
        (_viterbi(DIRECTION), _cvb(DIRECTION), _cvb(HEAD)),
    ),
    "known-sweep": Model("arc weights: one sweep of EM", _known(Stage(EMDMV, {"max_iter": 1}))),
    "known-em": Model("arc weights: EM", _known(Stage(EMDMV, {}))),
    "known-vb": Model("arc weights: VB, alpha .1", _known(_vb({}))),
    "known-cvb": Model("arc weights: CVB, alpha .1", _known(_cvb({}))),
    "known-cvb-3": Model("arc weights: CVB, alpha 3", _known(_cvb({}, 3.0))),
    "known-gibbs": Model(
        "arc weights: Gibbs, alpha .1, one chain", _known(Stage(GibbsDMV, _GIBBS))
    ),
    "known-head": Model(
        "arc weights: CVB, alpha .1, extended valence, back-off to head", _known(_cvb(HEAD))
    ),
    "known-viterbi": Model("arc weights: Viterbi EM, alpha 1", _known(_viterbi({}))),
    "known-without": Model(
        "arc weights but those of auxiliaries: CVB, alpha .1",
        _known(_cvb({}), rules=_WITHOUT_AUXILIARIES),
    ),
    "gold": Model(
        "learned from gold heads", (Stage(EMDMV, {"alpha": 0.1, "max_iter": 1}, gold=True),)
    ),
}
QUICK_MODELS = ("em", "cvb-.1", "cvb-short", "staged", "known-cvb", "gold")

# Heads without a model.
BASELINES = {
    "next": ("head is the next word", lambda n: [*range(2, n + 1), 0]),
    "previous": ("head is the previous word", lambda n: list(range(n))),
    "last": ("all attached to the last word", lambda n: [n] * (n - 1) + [0]),
    "first": ("all attached to the first word", lambda n: [0] + [1] * (n - 1)),
}


def _changed(title, first=None, second=None):
    """The staged fit with other settings of its fits; the second has the form of the first."""
    start, goal = (stage.settings for stage in MODELS["staged"].stages)
    start = start | (first or {})
    form = {"valence": Valence(start["valence"].extended, backoff=start["valence"].backoff)}
    stages = Stage(EMDMV, start), Stage(CVBDMV, goal | form | (second or {}))
    return Model(title, stages)


# The staged fit with one setting changed.
CHANGES = {
    "none": _changed("as in the large tables"),
    **{f"alpha-{a}": _changed(f"Viterbi EM: alpha {a}", {"alpha": a}) for a in (0.1, 0.3, 3.0)},
    **{f"sweeps-{n}": _changed(f"Viterbi EM: {n} sweeps", {"max_iter": n}) for n in (5, 10, 20)},
    **{
        f"temperature-{t}": _changed(
            f"Viterbi EM: temperature {t}", {"temperature": t, "update": "batch"}
        )
        for t in (0.2, 0.5)
    },
    **{
        f"mixture-{a}": _changed(
            f"Viterbi EM: alpha_backoff {a}",
            {"valence": Valence(backoff="direction", alpha_backoff=a)},
        )
        for a in (0.1, 10.0)
    },
    "plain": _changed("both: no back-off", {"valence": Valence()}),
    "valence": _changed("both: extended valence", VALENCE),
    "head": _changed("both: extended valence, backed off to the head", HEAD),
    **{f"then-{a}": _changed(f"CVB: alpha {a}", None, {"alpha": a}) for a in (0.03, 1.0)},
    "then-sweeps": _changed("CVB: 10 sweeps", None, {"max_iter": 10}),
}
