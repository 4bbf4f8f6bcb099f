"""Situations that compile every kernel: an estimator, settings and tiny data for each kind of fit,
and calls of all methods that read it.

Who compiles beforehand (`sklearn_cvb.compile`), measures first fits (``python -m benchmarks --rows
cold``) or tests for kernels that are compiled twice goes through this one list.
"""

from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple

from sklearn.naive_bayes import GaussianNB

from sklearn_cvb.settings import (
    Durations,
    MiniBatches,
    Samples,
    SplitAndMerge,
    Transitions,
    Valence,
    Windows,
)

# Words with one tag and with several, in sentences longer and shorter than a window.
_X = [
    "the can can leak and they saw a duck swim by the saw",
    "they saw the duck duck",
    "a saw cut the can and they can the duck",
    "duck saw can",
]
_DICTIONARY = {
    "the": ["DET"],
    "a": ["DET"],
    "they": ["PRON"],
    "and": ["CONJ"],
    "by": ["ADV", "PREP"],
    "can": ["AUX", "NOUN", "VERB"],
    "saw": ["NOUN", "VERB"],
    "duck": ["NOUN", "VERB"],
    "cut": ["NOUN", "VERB"],
    "leak": ["NOUN", "VERB"],
    "swim": ["VERB"],
}
_PARTIAL = {word: tags for word, tags in _DICTIONARY.items() if word not in ("can", "by")}
_AMBIGUOUS = {
    word: tags if len(tags) > 1 else [*tags, "NOUN"] for word, tags in _DICTIONARY.items()
}
_WEIGHTED = {
    word: {tag: float(n) for n, tag in enumerate(tags, 1)} for word, tags in _DICTIONARY.items()
}
_UNKNOWN = "zebra"
_LABELS = {"saw": "NOUN", "they": "PRON"}
_WINDOW = 4
# Concentrations are learned after twenty sweeps.
_SWEEPS, _SWEEPS_AUTO = 3, 22

_SENTENCES = [list(letters) for letters in ("aba", "ab", "babab", "a")]
_GRAMMAR = "S -> A B | B A | S S | 'a'\nA -> 'a' | A A\nB -> 'b' | 'b' 'a' | A B A"
_CYCLE = "S -> A | A S\nA -> B | B A | 'a'\nB -> A | 'b' | 'a' 'b'"
# Fewer states and enough of them for tables of rules.
_FEW, _MANY = 2, 8

# How estimators are read; each has some of these methods.
_READ: tuple[tuple[str, dict[str, Any]], ...] = (
    ("predict", {}),
    ("predict", {"decoding": "marginal"}),
    ("predict_proba", {}),
    ("predict_pair_proba", {}),
    ("filter_proba", {}),
    ("predict_next_proba", {}),
    ("predict_next", {"random_state": 0}),
    ("score_samples", {}),
    ("lower_bound_samples", {}),
    ("sample_paths", {"random_state": 0}),
    ("parse", {"n_best": 2}),
)


class Situation(NamedTuple):
    """An estimator with settings and data.

    Attributes
    ----------
    estimator : str
        Name of its class.
    settings : dict
        What the constructor is given; a situation stands for its estimator.
    X : list of list, of pairs of lists, or of trees
        Sequences to fit.
    y : list of list, list or None
        Labels or brackets; of a classifier a class for each sequence.
    X_new : list of list, or of pairs of lists
        Sequences, or pairs of them, to predict.
    """

    estimator: str
    settings: dict[str, Any]
    X: list[Any]
    y: list[Any] | None
    X_new: list[Any]

    def unfitted(self) -> Any:
        """The estimator; of the package only what it needs is imported."""
        kind = getattr(import_module("sklearn_cvb"), self.estimator)
        settings = self.settings.items()
        return kind(**{k: v.unfitted() if isinstance(v, Situation) else v for k, v in settings})

    def fit(self) -> Any:
        """The fitted estimator."""
        return self.unfitted().fit(self.X, self.y)

    def call_methods(self, model: Any) -> None:
        """Read a fitted estimator in every way."""
        # One of these is for symbols, the other for numbers, and neither where contexts tell.
        left_out = {"predict_next_proba" if "emission" in self.settings else "predict_next"}
        more: dict[str, Any] = {}
        if getattr(self.settings.get("transitions"), "contexts", None) is not None:
            left_out.add("predict_next")
            more["contexts"] = [[0, 1]]
        for name, settings in _READ:
            method = None if name in left_out else getattr(model, name, None)
            if method is not None and settings.keys() <= signature(method).parameters.keys():
                method(self.X_new, **settings)
        # Who scores by classes alone needs them.
        by_class = hasattr(model, "class_count_") or hasattr(model, "class_prior_")
        model.score(self.X, *([self.y] if by_class else []))
        if hasattr(model, "sample"):
            model.sample(2, random_state=0, **more)


def _words(sentences: list[str]) -> list[list[Any]]:
    return [sentence.split() for sentence in sentences]


def _common_settings(algorithm: str) -> dict[str, Any]:
    """Settings that all situations of an algorithm share."""
    settings: dict[str, Any] = {"max_iter": _SWEEPS, "random_state": 0}
    return settings | ({"samples": Samples(thin=1)} if algorithm == "Gibbs" else {"tol": 0.0})


def _chain_situations(algorithm: str, is_tagger: bool) -> dict[str, Situation]:
    """Situations of a hidden Markov model or tagger."""
    X = _words(_X)
    name = f"{algorithm}HMM{'Tagger' if is_tagger else ''}"
    base = _common_settings(algorithm)
    usual: dict[str, Any] = {"tag_dictionary": _DICTIONARY} if is_tagger else {"n_components": 3}

    def situation(X: list[list[Any]] = X, y: Any = None, **settings: Any) -> Situation:
        return Situation(name, base | settings, X, y, [["they", _UNKNOWN, "duck", "saw"]])

    situations = {}
    if is_tagger:
        situations["full"] = situation(**usual)
        situations["partial"] = situation(tag_dictionary=_PARTIAL)
        situations["ambiguous"] = situation(tag_dictionary=_AMBIGUOUS)
        situations["weights"] = situation(tag_dictionary=_WEIGHTED)
        labels = [[_LABELS.get(word) for word in words] for words in X]
        situations["labels"] = situation(y=labels, **usual)
    situations["none"] = situation(n_components=3)
    missing = [[None if t % 5 == 3 else word for t, word in enumerate(words)] for words in X]
    situations["missing"] = situation(X=missing, **usual)
    situations["one state"] = situation(n_components=1)
    situations["near zero"] = situation(**usual | {"alpha": 1e-10, "beta": 1e-10})
    for start in ("token", "parameter", "unambiguous"):
        situations[f"init {start}"] = situation(init=start, **usual)
    if algorithm != "EM":
        auto = {"alpha": "auto", "beta": "auto", "max_iter": _SWEEPS_AUTO}
        situations["auto"] = situation(**usual | auto)
    for title, settings in _UPDATES.get(algorithm, {}).items():
        situations[title] = situation(**usual | settings)
    if algorithm == "CVB" and is_tagger:
        situations["windows partial"] = situation(tag_dictionary=_PARTIAL, update=Windows(_WINDOW))
        situations["token partial"] = situation(tag_dictionary=_PARTIAL, update="token")
    shape: dict[str, Any] = {"update": "sequence"} if algorithm == "Gibbs" else {}
    situations["topology"] = situation(n_components=3, transitions="left-right", **shape)
    situations["mixture"] = situation(n_components=3, transitions="independent")
    return situations


def _numeric_situations(algorithm: str) -> dict[str, Situation]:
    """Situations of a hidden Markov model of numbers, in one series and in several."""
    base = _common_settings(algorithm) | {"n_components": 2}
    series = [float(step % 7 > 3) * 4.0 + step % 3 for step in range(60)]
    pieces = [series[begin : begin + 6] for begin in range(0, 60, 6)]
    wide = [[[value, 1.0 + value % 2] for value in piece] for piece in pieces]
    missing = [[None if step % 5 == 3 else value for step, value in enumerate(series)]]
    entered = [[[value, step % 2] for step, value in enumerate(piece)] for piece in pieces]
    lasting = Transitions(durations=Durations(longest=4))

    def situation(X: list[Any], emission: Any, **settings: Any) -> Situation:
        own = base | settings | {"emission": emission}
        return Situation(f"{algorithm}HMM", own, X, None, X[:2])

    return {
        "gaussian": situation(wide, "gaussian"),
        "gaussian series": situation([series], "gaussian"),
        "gaussian missing": situation(missing, "gaussian"),
        "poisson": situation(pieces, "poisson"),
        "gaussian contexts": situation(entered, "gaussian", transitions=Transitions(contexts=1)),
        "gaussian durations": situation(wide, "gaussian", transitions=lasting),
    }


_TOKEN: dict[str, Any] = {"update": "token"}
_VITERBI: dict[str, Any] = {"update": "viterbi"}
_UPDATES: dict[str, dict[str, dict[str, Any]]] = {
    "EM": {"viterbi": _VITERBI},
    "CVB": {
        "token": _TOKEN,
        "token auto": _TOKEN | {"alpha": "auto", "beta": "auto", "max_iter": _SWEEPS_AUTO},
        "windows": {"update": Windows(_WINDOW)},
    },
    "Gibbs": {
        "sequence": {"update": "sequence"},
        "parameter": {"update": "parameter"},
        "annealing": {"samples": Samples(thin=1, temperatures=(2.0, 0.5))},
    },
}


def _grammar_situations(algorithm: str) -> dict[str, Situation]:
    """Situations of a grammar: given, with cycles of unary rules, and with all rules."""
    base: dict[str, Any] = {"max_iter": _SWEEPS, "random_state": 0}
    if algorithm in ("Hastings", "Gibbs"):
        base |= {"samples": Samples(thin=1)}

    def situation(y: Any = None, **settings: Any) -> Situation:
        new = [list("ab"), list("abab")]
        return Situation(f"{algorithm}PCFG", base | settings, _SENTENCES, y, new)

    brackets = [[(0, 2)], None, [(1, 3), (3, 5)], None]
    situations = {
        "given": situation(grammar=_GRAMMAR),
        "cycles": situation(grammar=_CYCLE),
        "brackets": situation(grammar=_GRAMMAR, y=brackets),
        "n_components": situation(n_components=_FEW),
        "tables": situation(n_components=_MANY),
        "independent": situation(n_components=_FEW, rules="independent"),
    }
    if algorithm == "EM":
        stepwise = {"update": MiniBatches(2)}
        situations["viterbi"] = situation(grammar=_GRAMMAR, **_VITERBI)
        situations["stepwise"] = situation(grammar=_GRAMMAR, **stepwise)
        situations["stepwise cycles"] = situation(grammar=_CYCLE, **stepwise)
        situations["stepwise tables"] = situation(n_components=_MANY, **stepwise)
        independent: dict[str, Any] = {"n_components": _FEW, "rules": "independent"}
        situations["stepwise independent"] = situation(**independent, **stepwise)
    else:
        auto: dict[str, Any] = {"alpha": "auto", "max_iter": _SWEEPS_AUTO}
        if algorithm in ("VB", "CVB"):
            auto["tol"] = 0.0
        for title, settings in (
            ("auto", {"grammar": _GRAMMAR}),
            ("auto cycles", {"grammar": _CYCLE}),
            ("auto tables", {"n_components": _MANY}),
        ):
            situations[title] = situation(**settings | auto)
    return situations


def _dependency_situations(algorithm: str) -> dict[str, Situation]:
    """Situations of a dependency model: nothing known, some heads, or arcs; back-off."""
    base = _common_settings(algorithm)
    X, new = _words(_X), [["they", _UNKNOWN, "duck", "saw"]]
    heads = [None, [2, 0, None, None, 2], None, [None, None, None]]
    name = f"{algorithm}DMV"
    extended = {"valence": Valence(True, backoff="head")}
    situations = {
        "raw": Situation(name, base, X, None, new),
        "heads": Situation(name, base, X, heads, new),
        "random": Situation(name, base | {"init": "random"}, X, None, new),
        "backoff": Situation(name, base | extended, X, None, new),
        "arcs": Situation(name, base | {"arc_weights": {("can", ...): 0.5}}, X, None, new),
    }
    if algorithm == "EM":
        situations["viterbi"] = Situation(name, base | _VITERBI, X, None, new)
    else:
        auto = {"alpha": "auto", "valence": Valence(alpha_stop="auto"), "max_iter": _SWEEPS_AUTO}
        situations["auto"] = Situation(name, base | auto, X, None, new)
    return situations


_PAIRS = [
    ("the can can leak", "la lata puede gotear"),
    ("they saw the duck", "vieron al pato"),
    ("the duck can swim", "el pato puede nadar"),
    ("they cut the can", "cortan la lata"),
]


def _alignment_situations(algorithm: str) -> dict[str, Situation]:
    """Situations of word alignment: nothing known, links, translations, learned NULL."""
    base = _common_settings(algorithm)
    X = [(source.split(), target.split()) for source, target in _PAIRS]
    new = [(["they", _UNKNOWN, "duck"], ["el", _UNKNOWN, "pato"])]
    links = [None, [(1, 0), (3, 2)], None, [(0, 0), (-1, 1)]]

    def situation(y: Any = None, **settings: Any) -> Situation:
        return Situation(f"{algorithm}AlignmentHMM", base | settings, X, y, new)

    situations = {
        "raw": situation(),
        "links": situation(y=links),
        "dictionary": situation(dictionary={"duck": ["pato", "pata"]}),
        "null": situation(p_null=(1.0, 4.0)),
        "random": situation(init="random"),
    }
    return situations | ({"viterbi": situation(**_VITERBI)} if algorithm == "EM" else {})


_TREES = [
    "(S (NP (DT the) (NN can)) (VP (MD can) (VP (VB leak))))",
    "(S (NP (PRP they)) (VP (VBD saw) (NP (DT a) (NN duck)) (PP (IN by) (NP (DT the) (NN saw)))))",
    "(S (NP (NP (DT a) (NN saw)) (PP (IN by) (NP (DT the) (NN can)))) (VP (VBD cut) (RB by)))",
    "(SQ (MD can) (NP (PRP they)) (VP (VB duck)))",
]


def _treebank_situations(algorithm: str) -> dict[str, Situation]:
    """Situations of a treebank grammar with latent annotations."""
    base = _common_settings(algorithm)
    new = [["they", "can", "duck"], ["the", _UNKNOWN, "can", "duck", "by", "the", "saw"]]

    def situation(**settings: Any) -> Situation:
        return Situation(f"{algorithm}LatentPCFG", base | settings, _TREES, None, new)

    situations = {
        "fixed": situation(),
        "viterbi": situation(decoding="viterbi"),
        "split-merge": situation(n_subtypes=4, schedule=SplitAndMerge(round_length=2)),
    }
    if algorithm == "CVB":
        situations["token"] = situation(**_TOKEN)
    return situations


def _all_situations() -> dict[str, dict[str, Situation]]:
    algorithms = ("EM", "VB", "CVB", "Gibbs")
    situations = {
        f"{algorithm}HMM{'Tagger' * is_tagger}": _chain_situations(algorithm, is_tagger)
        for algorithm in algorithms
        for is_tagger in (False, True)
    }
    for algorithm in algorithms:
        situations[f"{algorithm}HMM"] |= _numeric_situations(algorithm)
    for kind, situations_by, learned_by in (
        ("PCFG", _grammar_situations, ("EM", "VB", "CVB", "Hastings", "Gibbs")),
        ("DMV", _dependency_situations, algorithms),
        ("AlignmentHMM", _alignment_situations, algorithms),
        ("LatentPCFG", _treebank_situations, algorithms[:3]),
    ):
        situations |= {f"{algorithm}{kind}": situations_by(algorithm) for algorithm in learned_by}
    return situations


# By class, then by title; the first of a class is its usual one.
SITUATIONS = _all_situations()


def _situations_around(name: str) -> dict[str, Situation]:
    """Situations of an estimator that is made of another: words, and series of numbers."""

    def situation(title: str) -> Situation:
        own = SITUATIONS["VBHMM"][title]._replace(y=None)
        y = ["odd" if index % 2 else "even" for index in range(len(own.X))]
        return Situation(name, {"estimator": own}, own.X, y, own.X_new)

    return {"symbols": situation("none"), "numbers": situation("gaussian")}


def _smoothing() -> Situation:
    """A classifier of steps, whatever it is."""
    X = [[[0.0], [0.1], [5.0], [5.1]], [[5.0], [0.2]]] * 3
    y = [["low", "low", "high", "high"], ["high", "low"]] * 3
    return Situation("HMMSmoother", {"estimator": GaussianNB(), "weight": 1.0}, X, y, X[:1])


# Estimators made of others, which have none of their parameters.
AROUND = {name: _situations_around(name) for name in ("HMMClassifier", "HMMMixture")}
AROUND["HMMSmoother"] = {"numbers": _smoothing()}
EVERY_SITUATION = SITUATIONS | AROUND
