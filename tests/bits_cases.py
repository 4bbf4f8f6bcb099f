"""What `bits` fits: every situation that the package compiles for, in several ways, and more.

A case is a class, settings and data. Most cases change a few settings of the usual situation of a
class; a title is ``situation, change, way``. All are tiny.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import signature
from itertools import chain
from typing import Any, NamedTuple

import numpy as np


def _words(*sentences: str) -> list[list[str]]:
    return [sentence.split() for sentence in sentences]


SENTENCES = _words(
    "the can can leak and they saw a duck swim by the saw",
    "they saw the duck duck",
    "a saw cut the can and they can the duck",
    "duck saw can",
)
VOCABULARY = sorted({"goose"}.union(*SENTENCES))
# More than float64 can hold where each step is improbable.
LONG = [(SENTENCES[0] + SENTENCES[2]) * 20, *SENTENCES]
PIECES = [
    [float(step % 7 > 3) * 4.0 + step % 3 for step in range(n, n + 6)] for n in range(0, 60, 6)
]
WIDE = [[[value, 1.0 + value % 2] for value in piece] for piece in PIECES]
GAPS = [
    [[None if t % 5 == 3 else a, None if t % 4 == 1 else b] for t, (a, b) in enumerate(piece)]
    for piece in WIDE
]
BITS = [[[value > 2, value % 2] for value in piece] for piece in PIECES]
OUTLIERS = [WIDE[0] + [[1e6, -1e6]] * 3 + WIDE[1], WIDE[2]]
STATES = [[t % 3 if t % 2 else -1 for t in range(len(words))] for words in SENTENCES]
TAGS = [["NOUN" if word in ("saw", "can") else None for word in words] for words in SENTENCES]
ALLOWED = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)


class Case(NamedTuple):
    """An estimator with settings and data, and how it is fitted."""

    estimator: str
    settings: dict[str, Any]
    X: Any
    y: Any
    new: Any
    way: str = "fit"

    def unfitted(self, **changes: Any) -> Any:
        """The estimator; settings that are cases themselves stand for theirs."""
        kind = getattr(import_module("sklearn_cvb"), self.estimator)
        settings = (self.settings | changes).items()
        return kind(**{k: v.unfitted() if hasattr(v, "unfitted") else v for k, v in settings})

    def takes(self, *names: str) -> bool:
        """Whether the class has all of these parameters."""
        return set(names) <= _parameters(self.estimator)


@cache
def _parameters(name: str) -> set[str]:
    return set(signature(getattr(import_module("sklearn_cvb"), name)).parameters)


def _start_table(words: Any, n_states: int) -> np.ndarray:
    table = np.arange(1.0, 1.0 + len(words) * n_states).reshape(-1, n_states) % 5 + 1
    return table / table.sum(axis=1, keepdims=True)


def _emissions() -> dict[str, dict[str, Any]]:
    """Numbers, by title."""
    from sklearn_cvb.emissions import Bernoulli, Categorical, Columns, Gaussian, Poisson

    found: dict[str, dict[str, Any]] = {}
    for kind in ("full", "tied", "diag", "spherical"):
        found[kind] = {"emission": Gaussian(kind), "X": WIDE}
        found[f"{kind} gaps"] = {"emission": Gaussian(kind), "X": GAPS}
        found[f"{kind} outliers"] = {"emission": Gaussian(kind), "X": WIDE, "new": OUTLIERS}
    given = Gaussian("diag", mean_prior=[1.0, 1.0], covariance_prior=[2.0, 1.0])
    found["diag prior"] = {"emission": given, "X": WIDE}
    full = Gaussian(mean_precision_prior=0.5, degrees_of_freedom_prior=5.0)
    found["full prior"] = {"emission": full, "X": WIDE}
    found["bernoulli"] = {"emission": "bernoulli", "X": BITS}
    found["counts gaps"] = {"emission": Poisson(), "X": GAPS}
    found["kinds"] = {"emission": Categorical(), "X": BITS}
    mixed = Columns([(Gaussian("diag"), [0]), (Poisson(), [1])])
    found["columns"] = {"emission": mixed, "X": WIDE}
    found["columns bits"] = {"emission": Columns([(Bernoulli(), [1]), (Poisson(), [0])]), "X": BITS}
    usual = {"emission": "gaussian", "X": WIDE}
    found["numbers left-right"] = usual | {"topology": "left-right"}
    found["numbers mixture"] = usual | {"topology": "independent"}
    found["numbers end"] = usual | {"end_state": True}
    found["numbers start"] = usual | {"start_alpha": 0.5}
    for start in ("kmeans", "token", "parameter", "merged"):
        found[f"numbers {start}"] = usual | {"init": start}
    found["numbers arrays"] = usual | {"init": [_start_table(piece, 3) for piece in WIDE]}
    found["numbers hdp"] = usual | {"transition_prior": "hdp", "gamma": "auto", "max_iter": 22}
    found["numbers sticky"] = usual | {"sticky": 2.0}
    found["numbers auto"] = usual | {"alpha": "auto", "max_iter": 22}
    found["numbers parameter update"] = usual | {"update": "parameter"}
    found["numbers sequence update"] = usual | {"update": "sequence"}
    found["numbers thin"] = usual | {"n_burn_in": 2, "thin": 2, "max_iter": 7}
    found["numbers long"] = usual | {"X": [list(chain(*WIDE)) * 30], "new": OUTLIERS}
    return found


def _chains() -> dict[str, dict[str, Any]]:
    """Of hidden Markov models and taggers of symbols, by title."""
    hdp = {"transition_prior": "hdp"}
    auto = {"alpha": "auto", "beta": "auto", "max_iter": 22}
    found: dict[str, dict[str, Any]] = {
        "end": {"end_state": True},
        "end long": {"end_state": True, "X": LONG},
        "start": {"start_alpha": 0.7},
        "posterior maximum": {"alpha": 0.5, "beta": 0.25},
        "restarts converged": {"n_init": 3, "max_iter": 40, "tol": 1e-3},
        "converged": {"max_iter": 60, "tol": 1e-2},
        "threads": {"n_init": 2, "n_jobs": 2},
        "hdp": hdp,
        "hdp sticky": hdp | {"sticky": 1.5},
        "hdp auto": hdp | auto | {"gamma": "auto", "gamma_prior": (2.0, 1.0)},
        "hdp end": hdp | {"end_state": True},
        "sticky": {"sticky": 1.5},
        "sticky auto": {"sticky": 1.5} | auto,
        "auto prior": auto | {"alpha_prior": (2.0, 1.0), "beta_prior": (1.0, 3.0)},
        "long": {"X": LONG},
        "long near zero": {"X": LONG, "alpha": 1e-10, "beta": 1e-10, "new": LONG},
        "long missing": {"X": [[None, *LONG[0], None], *SENTENCES]},
        "long left-right": {"X": LONG, "topology": "left-right"},
        "one token": {"X": [["saw"], *SENTENCES], "new": [["zebra"], ["duck"]]},
        "empty": {"X": [*SENTENCES, []]},
        "labels none": {"y": TAGS, "supervision": "none"},
        "labels": {"y": TAGS, "supervision": "y"},
        "vocabulary": {"vocabulary": VOCABULARY},
    }
    for start in ("token", "parameter", "word", "context", "merged", "unambiguous", "kmeans"):
        found[f"from {start}"] = {"init": start}
        found[f"free from {start}"] = {"init": start, "tag_dictionary": None, "n_components": 3}
    for update in ("token", "sequence", "parameter"):
        own = {"update": update}
        found[f"{update} end"] = own | {"end_state": True}
        found[f"{update} hdp"] = own | hdp
        found[f"{update} hdp auto"] = own | hdp | auto | {"gamma": "auto"}
        found[f"{update} sticky"] = own | {"sticky": 1.5}
        found[f"{update} start"] = own | {"start_alpha": 0.7}
        found[f"{update} long"] = own | {"X": LONG, "beta": 1e-10}
        found[f"{update} left-right"] = own | {"topology": "left-right", "n_components": 3}
        found[f"{update} mixture"] = own | {"topology": "independent"}
        found[f"{update} labels"] = own | {"y": TAGS}
        found[f"{update} auto"] = own | auto
        kept = {"n_burn_in": 2, "thin": 2, "max_iter": 9}
        found[f"{update} thin"] = own | kept
        found[f"{update} annealed"] = own | {"temperatures": (2.0, 0.1), "max_iter": 9}
        found[f"{update} annealed thin"] = own | kept | {"temperatures": (1.5, 0.5)}
    for topology in ("constant", "independent", "left-right"):
        found[topology] = {"topology": topology}
        found[f"{topology} end"] = {"topology": topology, "end_state": True}
        found[f"{topology} free"] = {
            "topology": topology,
            "tag_dictionary": None,
            "n_components": 3,
        }
    for unknown in ("error", "smooth", "rare", "form"):
        found[f"unknown {unknown}"] = {"handle_unknown": unknown}
    windows = {"block_length": 4}
    found["windows end"] = windows | {"end_state": True}
    found["windows auto"] = windows | auto
    found["windows hdp"] = windows | hdp
    return found


def _of_models() -> dict[str, dict[str, Any]]:
    """Of hidden Markov models alone."""
    return {
        "states": {"y": STATES, "supervision": "y"},
        "states end": {"y": STATES, "supervision": "y", "end_state": True},
        "arrays": {"init": [_start_table(words, 3) for words in SENTENCES]},
        "table of transitions": {"topology": ALLOWED},
        "table of transitions end": {"topology": ALLOWED, "end_state": True},
        "integers": {"X": np.arange(24).reshape(4, 6) % 5, "new": [[0, 1, 9]]},
        "many states": {"n_components": 9, "X": LONG},
    }


def _of_taggers() -> dict[str, dict[str, Any]]:
    """Of taggers alone."""
    partial = {"the": ["DET"], "saw": ["NOUN", "VERB"], "can": ["AUX", "NOUN"], "Duck": ["NOUN"]}
    weighted = {"saw": {"NOUN": 1.0, "VERB": 3.0}, "the": {"DET": 4.0}}
    own = {"tag_dictionary": partial}
    return {
        "partial noise": own | {"denoise": "none"},
        "partial open": own | {"unknown_tags": ["NOUN", "VERB"]},
        "partial labels": own | {"y": TAGS},
        "partial end": own | {"end_state": True},
        "partial smooth": own | {"handle_unknown": "smooth"},
        "partial long": own | {"X": LONG},
        "partial restarts": own | {"n_init": 2},
        "partial mixture": own | {"topology": "independent"},
        "weighted strongly": {"tag_dictionary": weighted, "dictionary_weight": 20.0},
        "only labels": {"tag_dictionary": None, "y": TAGS, "n_components": None},
    }


WEIGHTED = (
    "S -> A B [0.3] | B A [0.2] | S S [0.4] | 'a' [0.1]\nA -> 'a' [0.5] | A A [0.5]\nB -> 'b' [1.0]"
)
UNKNOWN = "S -> A B | B A | S S\nA -> 'a' | A A | '<unk>'\nB -> 'b' | 'b' 'a'"
GRAMMAR = "S -> A B | B A | S S | 'a'\nA -> 'a' | A A\nB -> 'b' | 'b' 'a' | A B A"
IMPROBABLE = f"S -> S A [{1e-200:.210f}] | A [1.0]\nA -> 'a' [0.5] | 'b' [0.5]"


def _grammars() -> dict[str, dict[str, Any]]:
    given = {"grammar": GRAMMAR}
    free = {"grammar": None, "n_components": 2}
    separate = {"grammar": None, "rules": "independent"}
    found: dict[str, dict[str, Any]] = {
        "weighted": {"grammar": WEIGHTED, "init": "grammar"},
        "unknown": {"grammar": UNKNOWN, "new": [list("abz"), list("zz")]},
        "unknown rare": {"grammar": UNKNOWN, "handle_unknown": "rare", "new": [list("abz")]},
        "improbable": {"grammar": IMPROBABLE, "init": "grammar"},
        "alpha of symbols": given | {"alpha": {"S": 0.5, "A": 0.1, "B": 2.0}},
        "lost": given | {"new": [list("bb"), [], list("abz"), list("ab" * 30)]},
        "lost free": free | {"new": [list("bb"), list("abz"), list("ab" * 30)]},
        "long": given | {"X": [list("ab" * 40), list("ab")]},
        "long free": free | {"X": [list("ab" * 40), list("ab")]},
        "restarts converged": given | {"n_init": 3, "max_iter": 40, "tol": 1e-3},
        "threads": given | {"n_init": 2, "n_jobs": 2},
        "thin": given | {"n_burn_in": 2, "thin": 2, "max_iter": 9},
        "annealed": given | {"temperatures": (2.0, 0.1), "max_iter": 9},
        "free error": free | {"handle_unknown": "error"},
        "free rare": free | {"handle_unknown": "rare"},
        "vocabulary": free | {"vocabulary": ["a", "b", "c"]},
        "brackets ignored": given | {"y": [[(0, 2)], None, None, None], "supervision": "none"},
        "brackets free": free | {"y": [[(0, 2)], None, [(1, 3), (3, 5)], None]},
        "brackets independent": separate | {"y": [[(0, 2)], None, [(1, 3), (3, 5)], None]},
        "auto prior": given | {"alpha": "auto", "alpha_prior": (2.0, 1.0), "max_iter": 22},
        "stepwise power": given | {"update": "sequence", "batch_size": 1, "step_power": 0.9},
        "posterior maximum": given | {"alpha": 0.5},
        "posterior maximum independent": separate | {"alpha": 0.5},
    }
    for start in ("parameter", "uniform", "trees"):
        found[f"from {start}"] = given | {"init": start}
        found[f"free from {start}"] = free | {"init": start}
        found[f"independent from {start}"] = separate | {"init": start}
    return found


def _dependencies() -> dict[str, dict[str, Any]]:
    rules = {(None, "saw"): 3.0, (("saw", "cut"), ("they", "duck")): 2.0}
    coarse = {"extended_valence": True, "backoff": "head"}
    found: dict[str, dict[str, Any]] = {
        "rules": {"rule_weights": rules},
        "rules backoff": {"rule_weights": rules} | coarse,
        "rules random": {"rule_weights": rules, "init": "random", "n_init": 2},
        "extended": {"extended_valence": True},
        "backoff alone": {"backoff": "head"},
        "backoff direction": {
            "backoff": "direction",
            "alpha_backoff": 3.0,
            "extended_valence": True,
        },
        "stop": {"alpha_stop": 0.7, "alpha": 0.3},
        "unknown error": {"handle_unknown": "error"},
        "unknown rare": {"handle_unknown": "rare"},
        "vocabulary": {"vocabulary": VOCABULARY},
        "uniform": {"init": "uniform", "n_init": 2},
        "hard": {"temperature": 0.0, "alpha": 0.5},
        "harder": {"temperature": 0.5},
        "long": {"X": [LONG[0][:60], *SENTENCES], "alpha": 1e-10},
        "heads ignored": {"y": [None, [2, 0, None, None, 2], None, None], "supervision": "none"},
        "auto extended": {"alpha": "auto", "extended_valence": True, "max_iter": 22},
        "auto backoff": {
            "alpha": "auto",
            "backoff": "head",
            "extended_valence": True,
            "max_iter": 22,
        },
        "auto prior": {"alpha": "auto", "alpha_prior": (2.0, 1.0), "max_iter": 22},
        "restarts converged": {"init": "random", "n_init": 3, "max_iter": 40, "tol": 1e-3},
        "threads": {"init": "random", "n_init": 2, "n_jobs": 2},
        "thin": {"n_burn_in": 2, "thin": 2, "max_iter": 9},
        "annealed": {"temperatures": (2.0, 0.1), "max_iter": 9},
        "one token": {"X": [["saw"], *SENTENCES], "new": [["zebra"], ["duck"]]},
        "empty": {"X": [*SENTENCES, []]},
    }
    return found


def _alignments() -> dict[str, dict[str, Any]]:
    source = _words(
        "the can can leak", "they saw the duck", "the duck can swim", "they cut the can"
    )
    target = _words(
        "la lata puede gotear", "vieron al pato", "el pato puede nadar", "cortan la lata"
    )
    X = list(zip(source, target, strict=True))
    tables = [_start_table(target, len(source) + 1) for source, target in X]
    return {
        "even": {"init": "even"},
        "arrays": {"init": tables},
        "no null": {"p_null": 0.0},
        "jumps": {"longest_jump": 2},
        "no sweeps": {"init_sweeps": 0},
        "translations": {"dictionary": {"duck": ["pato"], "can": ["lata", "puede"]}},
        "unknown error": {"handle_unknown": "error"},
        "links ignored": {"y": [None, [(1, 0), (3, 2)], None, None], "supervision": "none"},
        "null random": {"p_null": (1.0, 4.0), "init": "random", "n_init": 2},
        "near zero": {"alpha": 1e-10, "beta": 1e-10},
        "strong": {"alpha": 2.0, "beta": 0.5},
        "restarts converged": {"init": "random", "n_init": 3, "max_iter": 40, "tol": 1e-3},
        "threads": {"init": "random", "n_init": 2, "n_jobs": 2},
        "thin": {"n_burn_in": 2, "thin": 2, "max_iter": 9},
        "long": {"X": [(X[0][0] * 25, X[0][1] * 25), *X], "beta": 1e-10},
    }


def _treebanks() -> dict[str, dict[str, Any]]:
    split = {"n_subtypes": 4, "schedule": "split-merge", "round_length": 2}
    return {
        "random": {"init": "random", "n_init": 2},
        "one": {"n_subtypes": 1},
        "four": {"n_subtypes": 4},
        "words": {"rare_threshold": 0},
        "rare": {"rare_threshold": 3},
        "binarised": {"horizontal_markovisation": None},
        "binarised one": {"horizontal_markovisation": 1},
        "smoothing": {"smoothing": 0.1},
        "smoothing split": {"smoothing": 0.1} | split,
        "posterior maximum": {"alpha": 0.5},
        "split keeps": split | {"merge_share": 0.0},
        "split merges": split | {"merge_share": 0.9},
        "split restarts": split | {"n_init": 2},
        "token": {"update": "token"},
        "token split": {"update": "token"} | split,
        "restarts converged": {"n_init": 3, "max_iter": 40, "tol": 1e-3},
        "threads": {"n_init": 2, "n_jobs": 2},
    }


def _changes(name: str) -> dict[str, dict[str, Any]]:
    """What else a class is fitted with, by title."""
    if name.endswith("DMV"):
        return _dependencies()
    if name.endswith("AlignmentHMM"):
        return _alignments()
    if name.endswith("LatentPCFG"):
        return _treebanks()
    if name.endswith("PCFG"):
        return _grammars()
    if name.endswith("Tagger"):
        return _chains() | _of_taggers()
    return _chains() | _of_models() | _emissions()


def _changed(usual: Any, changes: dict[str, Any]) -> Case:
    """The usual situation of a class with other settings and data."""
    data = {key: changes[key] for key in ("X", "y", "new") if key in changes}
    settings = usual.settings | {k: v for k, v in changes.items() if k not in data}
    if "X" in data and "emission" in settings:
        data = {"new": data["X"][:2]} | data
    case = Case(usual.estimator, settings, usual.X, None, usual.new)._replace(**data)
    if case.takes("tag_dictionary"):
        case = case._replace(settings={k: v for k, v in settings.items() if case.takes(k)})
    else:
        case = case._replace(settings={k: v for k, v in settings.items() if k != "tag_dictionary"})
    return case


def _around() -> Iterator[tuple[str, Case]]:
    """Classifiers of several estimators."""
    situations = import_module("sklearn_cvb.learning.compile_cases").SITUATIONS
    y = ["odd" if index % 2 else "even" for index in range(len(WIDE))]
    for name in ("EMHMM", "CVBHMM", "GibbsHMM"):
        for title in ("none", "gaussian", "poisson"):
            own = situations[name][title]
            settings = {"estimator": own, "priors": [0.25, 0.75]}
            yield (
                f"{name} {title}",
                Case("HMMClassifier", settings, own.X, y[: len(own.X)], own.new),
            )


def cases() -> dict[str, dict[str, Any]]:
    """Makers of all cases, by class and title."""
    every = import_module("sklearn_cvb.learning.compile_cases").EVERY_SITUATION
    found: dict[str, dict[str, Case]] = {}
    for name, situations in every.items():
        own = found[name] = {title: Case(*one) for title, one in situations.items()}
        if name == "HMMClassifier":
            own |= _around()
            continue
        usual = next(iter(situations.values()))
        for title, changes in _changes(name).items():
            case = _changed(usual, changes)
            known = set(changes) - {"X", "y", "new", "tag_dictionary"}
            is_update = name.startswith("Gibbs") or changes.get("update") != "parameter"
            if case.takes(*known) and is_update:
                own[f"more: {title}"] = case
        for title, case in list(own.items()):
            own |= {f"{title}, {way}": case._replace(way=way) for way in _ways(title, case)}
    return found


def _ways(title: str, case: Case) -> list[str]:
    """How else a case is fitted."""
    is_more, is_symbols = title.startswith("more: "), "emission" not in case.settings
    # Other data and priors are saved, and taken over from a model, as the usual ones are.
    ways = ["warm"] if is_more else ["restarts", "warm", "checkpoint", "model"]
    if case.takes("learning_decay") and is_symbols:
        ways += ["partial_fit", "shards"]
        if case.takes("topology") and not is_more:
            ways.append("store")
    if case.takes("horizontal_markovisation") and not is_more:
        ways.remove("model")
    return ways
