"""Small fitted models of every kind, each with sequences that it reads without a word."""

import pickle
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    EMDMV,
    EMHMM,
    EMPCFG,
    VBHMM,
    CVBAlignmentHMM,
    CVBHMMTagger,
    EMAlignmentHMM,
    EMHMMTagger,
    EMLatentPCFG,
    GibbsHMM,
    Grammar,
    HMMClassifier,
    HMMMixture,
    Transitions,
)
from sklearn_cvb.emissions import (
    AutoRegressive,
    Categorical,
    Columns,
    Gaussian,
    Poisson,
    Regression,
    StudentT,
)

_CHAINS = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM, "Gibbs": GibbsHMM}
N_STEPS = 12


class Subject(NamedTuple):
    """A fitted model.

    Attributes
    ----------
    model : estimator
    X : list or frame
        What it was fitted to, or could have been.
    kind : str
        "frames", "arrays", "series", "rows", "words", "codes", "wide" or "pairs".
    by_name : bool
        Whether it says by name which columns it reads.
    fits : bool
        Whether a clone of it learns the same again.
    """

    model: Any
    X: Any
    kind: str
    by_name: bool = False
    fits: bool = True


# What is fitted to. Values are whole, so that integers and small floats hold them.


def _numbers(rng: np.random.Generator, n_columns: int) -> list[np.ndarray]:
    states = [np.repeat(rng.integers(2, size=4), N_STEPS // 4) for _ in range(5)]
    shifts = np.array([8.0, -6.0, 3.0, 5.0])[:n_columns]
    return [
        np.rint(
            10.0
            + 12.0 * np.arange(n_columns)
            + state[:, None] * shifts
            + rng.normal(size=(N_STEPS, 1))
        )
        for state in states
    ]


def _frames(seed: int, names: list[str], text: tuple[str, ...] = ()) -> list[pd.DataFrame]:
    rng = np.random.default_rng(seed)
    found = []
    for table in _numbers(rng, len(names)):
        table += rng.integers(-1, 2, size=table.shape)
        frame = pd.DataFrame(table, columns=names)
        for name in text:
            frame[name] = np.where(frame[name] > frame[name].median(), "on", "off")
        found.append(frame)
    return found


def _with_gaps(frames: list[pd.DataFrame], name: str) -> list[pd.DataFrame]:
    """The same with a value missing in each."""
    return [frame.mask((frame.index == 5)[:, None] & (frame.columns == name)) for frame in frames]


def _words(seed: int, words: list[Any]) -> list[list[Any]]:
    rng = np.random.default_rng(seed)
    half = len(words) // 2
    rows = []
    for _ in range(6):
        state = np.repeat(rng.integers(2, size=4), 3)
        rows.append([words[half * s + int(rng.integers(half))] for s in state])
    return rows


_VERBS = ["dog", "cat", "bird", "barks", "sees", "sings"]
_TAGS = {word: "N" if i < 3 else "V" for i, word in enumerate(_VERBS)}


def _chain(name: str, *args: Any, **settings: Any) -> Any:
    # A sampler's draws are kept few.
    return _CHAINS[name](*args, random_state=0, max_iter=20 if name == "Gibbs" else 100, **settings)


_MIXED = Columns(
    [(Gaussian("diag"), ["x"]), (Categorical(), ["mode", "place"]), (Poisson(), ["n"])]
)


def _mixed(name: str) -> Subject:
    X = _frames(1, ["x", "mode", "n", "place"], ("mode", "place"))
    return Subject(_chain(name, 2, emission=_MIXED).fit(X), X, "frames", by_name=True)


def _gaussian(name: str) -> Subject:
    X = _with_gaps(_frames(2, ["a", "b", "c"]), "b")
    return Subject(_chain(name, 2, emission="gaussian").fit(X), X, "frames")


def _counts(name: str) -> Subject:
    X = _frames(3, ["p", "q"])
    return Subject(_chain(name, 2, emission="poisson").fit(X), X, "frames")


def _contexts(name: str, prior: str = "dirichlet") -> Subject:
    X = _frames(4, ["a", "day", "b"], ("day",))
    transitions = Transitions(contexts="day", prior=prior)
    return Subject(
        _chain(name, 2, emission="gaussian", transitions=transitions).fit(X), X, "frames"
    )


def _regression(name: str) -> Subject:
    X = _frames(5, ["u", "v", "y"])
    emission = Regression(inputs=["u", "v"], outputs=["y"])
    return Subject(_chain(name, 2, emission=emission).fit(X), X, "frames", by_name=True)


def _arrays(name: str) -> Subject:
    X = _with_gaps(_frames(6, ["a", "b", "c"]), "b")
    X = [frame.to_numpy() for frame in X]
    return Subject(_chain(name, 2, emission=Gaussian("diag")).fit(X), X, "arrays")


def _series(name: str) -> Subject:
    X = [frame["a"].to_numpy() for frame in _frames(7, ["a"])]
    return Subject(_chain(name, 2, emission="gaussian").fit(X), X, "series")


def _rows(name: str) -> Subject:
    X = pd.DataFrame(np.stack([frame["a"] for frame in _frames(8, ["a"])]))
    X = X.rename(columns="t{}".format)
    return Subject(_chain(name, 2, emission="gaussian").fit(X), X, "rows")


def _symbols(name: str) -> Subject:
    X = _words(9, _VERBS)
    return Subject(_chain(name, 2).fit(X), X, "words")


def _gaps(name: str) -> Subject:
    X = _words(10, _VERBS)
    X[1][4] = None
    return Subject(_chain(name, 2).fit(X), X, "words")


def _codes(name: str) -> Subject:
    X = _words(11, list(range(6)))
    return Subject(_chain(name, 2).fit(X), X, "codes")


def _wide(name: str) -> Subject:
    X = pd.DataFrame(_words(12, _VERBS)).rename(columns="t{}".format)
    return Subject(_chain(name, 2).fit(X), X, "wide")


def _tagger(kind: Any, **settings: Any) -> Subject:
    X = _words(13, _VERBS)
    return Subject(kind(_TAGS, random_state=0, **settings).fit(X), X, "words")


def _supervised() -> Subject:
    X = _words(14, _VERBS)
    y = [[_TAGS[word] for word in row] for row in X]
    return Subject(EMHMMTagger().fit(X, y), X, "words", fits=False)


def _classifier(of: Subject) -> Subject:
    y = ["u", "v"] * (len(of.X) // 2) + ["u"] * (len(of.X) % 2)
    return Subject(HMMClassifier(of.model).fit(of.X, y), of.X, of.kind, of.by_name, fits=False)


def _mixture(of: Subject) -> Subject:
    model = HMMMixture(of.model, n_init=1, random_state=0).fit(of.X)
    return Subject(model, of.X, of.kind, of.by_name)


def _alignment(kind: Any) -> Subject:
    german = dict(zip(_VERBS, ["Hund", "Katze", "Vogel", "bellt", "sieht", "singt"], strict=True))
    X = [(row[:4], [german[word] for word in row[:4]]) for row in _words(15, _VERBS)]
    return Subject(kind(max_iter=5, tol=0).fit(X), X, "pairs")


def _trees(kind: Any, *args: Any, **settings: Any) -> Subject:
    X = [row[:6] for row in _words(16, _VERBS)]
    return Subject(kind(*args, max_iter=5, tol=0, **settings).fit(X), X, "words")


def _treebank() -> Subject:
    subject = _trees(EMPCFG, _GRAMMAR)
    trees = list(subject.model.parse(subject.X))
    model = EMLatentPCFG(2, max_iter=5, tol=0, random_state=0).fit(subject.X, trees)
    return subject._replace(model=model, fits=False)


def _carried(of: Callable[[str], Subject], name: str, by: str) -> Subject:
    """A model that was saved and loaded again."""
    subject = of(name)
    if by == "pickle":
        return subject._replace(model=pickle.loads(pickle.dumps(subject.model)))
    return subject._replace(model=EMHMM.from_json(subject.model.to_json()), fits=False)


_GRAMMAR = Grammar.from_text(
    "S -> S S | A | B\nA -> 'dog' | 'cat' | 'bird' | 'sees'\nB -> 'barks' | 'sees' | 'sings'"
)


def _made_of_numbers() -> Subject:
    frames = _frames(17, ["a", "b"])
    means = pd.DataFrame([[10.0, 22.0], [18.0, 16.0]], columns=["a", "b"])
    rows = {"startprob": [0.5, 0.5], "transmat": [[0.8, 0.2], [0.3, 0.7]]}
    covariances = [np.eye(2), 2.0 * np.eye(2)]
    model = EMHMM.from_parameters(**rows, emission="gaussian", means=means, covariances=covariances)
    return Subject(model, frames, "frames", fits=False)


def _made_of_words() -> Subject:
    rows = {"startprob": [0.5, 0.5], "transmat": [[0.8, 0.2], [0.3, 0.7]]}
    table = pd.DataFrame([[0.3, 0.3, 0.2, 0.1, 0.05, 0.05], [0.1] * 3 + [0.2, 0.2, 0.3]])
    model = EMHMM.from_parameters(**rows, emissionprob=table.set_axis(_VERBS, axis=1))
    return Subject(model, _words(18, _VERBS), "words", fits=False)


def _durations(name: str) -> Subject:
    X = _frames(19, ["a", "b"])
    asked = {"emission": StudentT(), "transitions": Transitions(durations="poisson")}
    return Subject(_chain(name, 2, **asked).fit(X), X, "frames")


def _autoregression(name: str) -> Subject:
    X = _frames(20, ["a", "b"])
    return Subject(_chain(name, 2, emission=AutoRegressive()).fit(X), X, "frames")


MAKERS: dict[str, Callable[[], Subject]] = {
    **{f"gaussian {name}": lambda name=name: _gaussian(name) for name in _CHAINS},
    **{f"columns by name {name}": lambda name=name: _mixed(name) for name in _CHAINS},
    "counts EM": lambda: _counts("EM"),
    "counts Gibbs": lambda: _counts("Gibbs"),
    "contexts EM": lambda: _contexts("EM"),
    "pooled contexts VB": lambda: _contexts("VB", "pooled"),
    "regression CVB": lambda: _regression("CVB"),
    "durations VB": lambda: _durations("VB"),
    "autoregression EM": lambda: _autoregression("EM"),
    "gaussian of parameters": _made_of_numbers,
    "words of parameters": _made_of_words,
    "arrays VB": lambda: _arrays("VB"),
    "arrays Gibbs": lambda: _arrays("Gibbs"),
    "series EM": lambda: _series("EM"),
    "rows CVB": lambda: _rows("CVB"),
    "words VB": lambda: _symbols("VB"),
    "words Gibbs": lambda: _symbols("Gibbs"),
    "words with gaps EM": lambda: _gaps("EM"),
    "codes CVB": lambda: _codes("CVB"),
    "codes EM": lambda: _codes("EM"),
    "wide VB": lambda: _wide("VB"),
    "tagger CVB": lambda: _tagger(CVBHMMTagger),
    "tagger EM": lambda: _supervised(),
    "classifier of frames": lambda: _classifier(_gaussian("EM")),
    "classifier of columns by name": lambda: _classifier(_mixed("VB")),
    "classifier of words": lambda: _classifier(_symbols("CVB")),
    "mixture of frames": lambda: _mixture(_gaussian("EM")),
    "mixture of columns by name": lambda: _mixture(_mixed("EM")),
    "mixture of words": lambda: _mixture(_symbols("EM")),
    "alignment EM": lambda: _alignment(EMAlignmentHMM),
    "alignment CVB": lambda: _alignment(CVBAlignmentHMM),
    "dependencies EM": lambda: _trees(EMDMV),
    "dependencies CVB": lambda: _trees(CVBDMV),
    "grammar EM": lambda: _trees(EMPCFG, _GRAMMAR),
    "grammar CVB": lambda: _trees(CVBPCFG, n_components=2, random_state=0),
    "grammar with annotations EM": lambda: _treebank(),
    **{
        f"{form} by {by}": lambda of=of, name=name, by=by: _carried(of, name, by)
        for form, of, name in [
            ("gaussian", _gaussian, "VB"),
            ("columns by name", _mixed, "CVB"),
            ("counts", _counts, "EM"),
            ("arrays", _arrays, "CVB"),
            ("words", _symbols, "CVB"),
            ("codes", _codes, "VB"),
        ]
        for by in ("pickle", "JSON")
    },
}


@cache
def subject(name: str) -> Subject:
    """The fitted model of this name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MAKERS[name]()
