"""Every fit to the last bit: compares with an earlier commit while the inside is rebuilt.

For a time only: when the rebuilding is done, this goes. Without pytest, so that any version of the
package can run it::

    python tests/bits.py /tmp/new.pkl --only 'EMAlignmentHMM,VB*' --against /tmp/old.pkl
    python tests/bits.py --compare /tmp/old.pkl /tmp/new.pkl

The first fits all cases of some classes with the package that Python imports, and says where the
numbers differ from those in another file; the second compares two files.
"""

import argparse
import functools
import importlib
import inspect
import pickle
import sys
import tempfile
import warnings
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from bits_cases import Case, cases

# Features that go on purpose: (class, situation), with wildcards.
DROPPED = [
    ("CVBHMM*", "order 2"),
    ("CVBHMM*", "batches"),
    ("CVBHMM*", "batches partial"),
    ("GibbsHMM*", "beam"),
    ("CVBHMM", "gaussian token"),
    ("GibbsHMM", "gaussian token"),
]

# What differs on purpose: (class, case, what is compared) with wildcards, and how far it may be
# from what it was; None for any difference.
CHANGED: list[tuple[str, str, str, float | None]] = [
    # Sums are made in another order; a sweep begins from counts, not from a tally that runs along.
    ("CVBHMM*", "*", "*", 1e-12),
    # Beside priors of 1e-10 rounding tells what is left (counting more often did as much before).
    ("CVBHMM*", "*near zero*", "*", 1e-6),
    # One token is as surely one tag as another: posteriors are compared, too.
    ("CVBHMMTagger", "*", "labels_*", None),
    ("CVBHMMTagger", "more: one token", "predict(X)", None),
    ("VBHMM*", "*, partial_fit", "*", 1e-12),
    # Products and logs have one recursion over dependency trees.
    ("*DMV", "*", "*", 1e-12),
    # Digamma and log Gamma have one formula, and a divergence is made of the evidence.
    ("VB*", "*", "*", 1e-12),
    ("VBHMM*", "*near zero*", "*", 1e-5),
    ("VBHMM", "more: numbers *", "*", 1e-9),
    ("VBHMM", "*", "labels_*", None),
    # What is far off by rounding alone: relative to log densities of outliers.
    ("VBHMM", "more: * outliers*", "lower_bound_samples(new)", 1e-9),
    # Two restarts that differ in the order of their states alone: rounding tells which is kept.
    ("[EV]?*HMM", "more: bernoulli, warm", "*", None),
    ("[EV]?*HMM", "more: kinds, warm", "*", None),
    ("[EV]?*HMM", "more: columns bits, warm", "*", None),
    # Zeros and ones are two categories, and log space has one recursion.
    ("EMHMM", "more: *", "*", 1e-12),
    # One formula for rows of probabilities: sums of rows, their digamma and quotients round
    # differently.
    ("VB*", "*", "*", 1e-12),
    ("*PCFG", "*", "*", 1e-12),
    ("*DMV", "*", "*", 1e-12),
    ("*AlignmentHMM", "*", "*", 1e-12),
    # Long series of numbers, mixtures of tables for tags without any arc, and slow convergence make
    # more of it; trees, alignments and restarts that are equally good change places.
    ("VBHMM*", "*numbers*", "*", 1e-8),
    ("VBHMM*", "missing, model", "*", 1e-10),
    ("VBHMM*", "more: kinds, warm", "*", None),
    ("VBLatentPCFG", "more: restarts converged", "*", 1e-9),
    ("EMDMV", "backoff, *", "*", 1e-8),
    ("*DMV", "*, model", "labels_*", None),
    ("*PCFG", "*", "labels_*", None),
    ("*PCFG", "*", "predict(*", None),
    ("*PCFG", "*", "parse(*", None),
    ("EMAlignmentHMM", "more: long", "predict(X)", None),
    # Splits that tell equally little (words of one tag): rounding says which is undone.
    ("*LatentPCFG", "*split*", "*", None),
    # Samplers of numbers count labels and keep samples by the rule of all samplers.
    ("GibbsHMM", "*", "labels_*", None),
    ("GibbsHMM", "*", "training_posteriors*", None),
    ("GibbsHMM", "more: numbers thin*", "*", None),
    ("HMMClassifier", "CVBHMM *", "*", 1e-12),
    ("HMMClassifier", "GibbsHMM *", "estimators_*", None),
    # What a message names is gone.
    ("CVBHMM*", "*token*", "error", None),
    ("GibbsHMM", "more: numbers sequence update*", "error", None),
]

# How a model is read, on what the case has for `predict` or on what it was fitted to.
READ: list[tuple[str, str, dict[str, Any]]] = [
    ("predict", "new", {}),
    ("predict", "X", {}),
    ("predict", "new", {"decoding": "marginal"}),
    ("predict_proba", "new", {}),
    ("predict_log_proba", "new", {}),
    ("filter_proba", "new", {}),
    ("predict_next_proba", "new", {}),
    ("predict_next", "new", {"random_state": 0}),
    ("score_samples", "new", {}),
    ("score_samples", "X", {}),
    ("score", "X", {}),
    ("perplexity", "X", {}),
    ("lower_bound_samples", "new", {}),
    ("lower_bound_samples", "X", {}),
    ("sample_paths", "new", {"random_state": 0}),
    ("parse", "new", {"n_best": 2}),
    ("transform", "new", {}),
    ("tag_sources", "new", {}),
    ("sample", "", {"random_state": 0}),
    ("training_posteriors", "", {}),
    ("credible_intervals", "", {}),
    ("convergence", "", {}),
]
# For what was fitted in another way than the usual one: what was learned tells the rest.
BRIEFLY = [one for one in READ if one[:2] in {("predict_proba", "new"), ("score", "X")}]
BRIEFLY += [one for one in READ if one[0] in ("sample", "training_posteriors")]
# Where the function that fits on shards in this process may be.
SHARDS = (
    "sklearn_cvb.chain.symbols.vocabulary_pass",
    "sklearn_cvb.{}.shards",
    "sklearn_cvb.shards",
    "sklearn_cvb.whole",
)


# Fitting


def _fit(case: Case, folder: Path) -> Iterator[Any]:
    yield case.unfitted().fit(case.X, case.y)


def _restarts(case: Case, folder: Path) -> Iterator[Any]:
    yield case.unfitted(n_init=2).fit(case.X, case.y)


def _warm(case: Case, folder: Path) -> Iterator[Any]:
    """Two sweeps of two restarts, and two more of the best."""
    model = case.unfitted(max_iter=2, n_init=2, warm_start=True).fit(case.X, case.y)
    yield model
    yield model.fit(case.X, case.y)


def _checkpoint(case: Case, folder: Path) -> Iterator[Any]:
    """A fit that is saved after each sweep, and one that goes on from the last of them."""
    saved = {"checkpoint": folder, "checkpoint_every": 1}
    yield case.unfitted(**saved).fit(case.X, case.y)
    more = {"warm_start": True, "max_iter": case.settings["max_iter"] + 2}
    yield case.unfitted(**saved | more).fit(case.X, case.y)


def _model(case: Case, folder: Path) -> Iterator[Any]:
    """A fit that begins where another has ended."""
    yield case.unfitted(init=case.unfitted().fit(case.X, case.y)).fit(case.X, case.y)


def _partial_fit(case: Case, folder: Path) -> Iterator[Any]:
    model = case.unfitted()
    for X, y in _parts(case):
        yield model.partial_fit(X, *([] if y is None else [y]))


def _parts(case: Case) -> list[tuple[Any, Any]]:
    """The first two sequences and the others; one alone is given twice."""
    cuts = [slice(None, 2), slice(2, None) if len(case.X) > 2 else slice(None)]
    return [(case.X[cut], None if case.y is None else case.y[cut]) for cut in cuts]


def _shards(case: Case, folder: Path) -> Iterator[Any]:
    model = case.unfitted()
    *_, folder_of_class, module = type(model).__module__.split(".")
    if folder_of_class == "estimators":
        folder_of_class = "grammar" if module.startswith("grammars") else "chain.symbols"
    _fit_here(folder_of_class)(model, _parts(case))
    yield model


@functools.cache
def _fit_here(family: str) -> Any:
    """The function that fits on shards in this process."""
    for name in SHARDS:
        try:
            module = importlib.import_module(name.format(family))
        except ImportError:
            continue
        if hasattr(module, "fit_here"):
            return module.fit_here
        if hasattr(module, "read_here"):
            return functools.partial(_fit_read_here, module.read_here)
    raise LookupError(f"where do shards of {family} begin? Say so in SHARDS")


def _fit_read_here(read_here: Any, model: Any, parts: list) -> None:
    model._validate_params()
    model._fit_reading(read_here(model, parts), None, None)


def _store(case: Case, folder: Path) -> Iterator[Any]:
    from sklearn_cvb import write_store

    X = list(case.X)
    batch = X if case.y is None else (X, case.y)
    yield case.unfitted().fit(write_store([batch], folder, tagged=case.y is not None))


WAYS = {
    "fit": _fit,
    "restarts": _restarts,
    "warm": _warm,
    "checkpoint": _checkpoint,
    "model": _model,
    "partial_fit": _partial_fit,
    "shards": _shards,
    "store": _store,
}


# Reading


def plain(value: Any) -> Any:
    """What a value holds, of nothing but builtins and arrays of numbers."""
    if value is None or isinstance(value, (str, bool, int, float, complex)):
        return value
    if hasattr(value, "toarray") and hasattr(value, "indptr"):
        return [value.shape, *map(plain, (value.data, value.indices, value.indptr))]
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind in "biufcUS":
            return np.array(array)
        return [array.shape, [plain(one) for one in array.ravel()]]
    if hasattr(value, "pformat"):
        return str(value)
    if isinstance(value, dict):
        return [[plain(key), plain(one)] for key, one in value.items()]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "get_params"):
        return attributes(value)
    # Frozen distributions of SciPy.
    if hasattr(value, "kwds") and hasattr(value, "dist"):
        return [value.dist.name, plain(value.args), plain(value.kwds)]
    public = {k: v for k, v in getattr(value, "__dict__", {}).items() if not k.startswith("_")}
    return [type(value).__name__, plain(public)]


def attributes(model: Any) -> dict[str, Any]:
    """All that was learned."""
    names = {*vars(model), *dir(type(model))}
    found = {}
    for name in sorted(names):
        if name.endswith("_") and not name.startswith("_"):
            try:
                found[name] = plain(getattr(model, name))
            except AttributeError:
                continue
    return found


def _read(model: Any, case: Case) -> dict[str, Any]:
    """What methods return, or what they refuse."""
    found = {}
    for name, data, settings in READ if case.way == "fit" else BRIEFLY:
        method = getattr(model, name, None)
        if method is None or not settings.keys() <= _parameters(type(model), name):
            continue
        given = [getattr(case, data)] if data else [2] if name == "sample" else []
        if name == "score" and hasattr(model, "class_count_"):
            given.append(case.y)
        key = f"{name}({', '.join([data, *map(str, settings.values())])})"
        try:
            found[key] = plain(method(*given, **settings))
        except Exception as error:
            found[key] = _refusal(error)
    return found


@functools.cache
def _parameters(kind: type, name: str) -> set[str]:
    return set(inspect.signature(getattr(kind, name)).parameters)


def _refusal(error: Exception, folder: object = None) -> str:
    """Which error, without what differs between runs: folders, and what else a parameter may be."""
    message = str(error).replace(str(folder), "FOLDER") if folder else str(error)
    return f"{type(error).__name__}: {message.partition(' must be ')[0]}"


def result(case: Case, folder: Path) -> dict[str, Any]:
    """All numbers of a case, by what they are; `folder` is for files and does not exist."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for n, model in enumerate(WAYS[case.way](case, folder)):
                before = {f"{name} before": value for name, value in found.items()} if n else {}
                found = before | attributes(model)
            found |= _read(model, case)
        except Exception as error:
            found["error"] = _refusal(error, folder)
    return found


# Comparing


def difference(old: Any, new: Any, at: str = "") -> str:
    """The first place where two plain values differ, and by how much; "" if they do not."""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return _of_arrays(old, new, at)
    if type(old) is not type(new):
        return f"{at}: {old!r:.200} became {new!r:.200}"
    if isinstance(old, dict):
        lost = old.keys() - new.keys()
        if lost:
            return f"{at}: no {', '.join(sorted(lost))}"
        return next(filter(None, (difference(old[k], new[k], f"{at}.{k}") for k in old)), "")
    if isinstance(old, (list, tuple)):
        if len(old) != len(new):
            return f"{at}: {len(old)} items became {len(new)}"
        pairs = enumerate(zip(old, new, strict=True))
        return next(filter(None, (difference(a, b, f"{at}[{n}]") for n, (a, b) in pairs)), "")
    is_same = old == new or (old != old and new != new)
    return "" if is_same else f"{at}: {old!r:.200} became {new!r:.200}"


def _of_arrays(old: np.ndarray, new: np.ndarray, at: str) -> str:
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        return f"{at}: {old.dtype}{old.shape} became {new.dtype}{new.shape}"
    is_inexact = old.dtype.kind in "fc"
    if np.array_equal(old, new, equal_nan=is_inexact):
        return ""
    changed = old != new
    if is_inexact:
        changed &= ~(np.isnan(old) & np.isnan(new))
        most = np.abs(old - new)[changed].max()
        return f"{at}: differs in {changed.sum()} of {old.size} by {most:.3g}"
    return f"{at}: differs in {changed.sum()} of {old.size}"


def differences(
    old: dict[str, Any], new: dict[str, Any], name: str = "", title: str = ""
) -> list[str]:
    """What of a case differs, a line each; what only the new one has does not count."""
    if old.get("error") != new.get("error"):
        if may_be(name, title, "error", old.get("error"), new.get("error")):
            return []
        return [f"error: {old.get('error', 'none')} became {new.get('error', 'none')}"]
    found = []
    for what, value in old.items():
        text = difference(value, new[what], what) if what in new else f"no {what}"
        if text and not (what in new and may_be(name, title, what, value, new[what])):
            found.append(text)
    return found


def may_be(name: str, title: str, what: str, old: Any, new: Any) -> bool:
    """Whether a value may have changed so far."""
    return any(
        fnmatchcase(name, kind)
        and fnmatchcase(title, case)
        and fnmatchcase(what, part)
        and (tolerance is None or is_near(old, new, tolerance))
        for kind, case, part, tolerance in CHANGED
    )


def is_near(old: Any, new: Any, tolerance: float) -> bool:
    """Whether all numbers of two plain values are as near to one another."""
    if isinstance(old, dict):
        return old.keys() <= new.keys() and all(is_near(old[k], new[k], tolerance) for k in old)
    if isinstance(old, (list, tuple)):
        pairs = zip(old, new, strict=False)
        return len(old) == len(new) and all(is_near(a, b, tolerance) for a, b in pairs)
    if (isinstance(old, np.ndarray) and old.dtype.kind in "fc") or isinstance(old, float):
        if np.shape(old) != np.shape(new):
            return False
        return np.allclose(old, new, rtol=tolerance, atol=tolerance, equal_nan=True)
    return not difference(old, new)


def is_dropped(name: str, title: str) -> bool:
    """Whether a case, in whatever way it is fitted, goes on purpose."""
    situation = title.split(", ")[0]
    return any(fnmatchcase(name, kind) and situation == gone for kind, gone in DROPPED)


def compare(old: dict[str, Any], new: dict[str, Any], name: str) -> list[str]:
    """What differs in the cases of a class, a line each."""
    lines = []
    for title, one in old[name].items():
        if title in new.get(name, {}):
            found = differences(one, new[name][title], name, title)
            lines += [f"{name} {title}: {line}" for line in found]
        elif not is_dropped(name, title):
            lines.append(f"{name} {title}: no such case any more")
    return lines


# The command line


def run(only: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Fit all cases of the classes that match one of some patterns."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for name, by_title in cases().items():
        if not any(fnmatchcase(name, pattern) for pattern in only.split(",")):
            continue
        begin = process_time()
        with tempfile.TemporaryDirectory() as folder:
            numbered = enumerate(by_title.items())
            found[name] = {t: result(one, Path(folder) / str(n)) for n, (t, one) in numbered}
        n_refused = sum("error" in one for one in found[name].values())
        took = process_time() - begin
        print(f"{name}: {len(found[name])} cases, {n_refused} refused, {took:.1f} s", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, help="the file to write")
    parser.add_argument("--only", default="*", help="classes, with wildcards, between commas")
    parser.add_argument("--against", type=Path, help="a file to compare with")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"))
    chosen = parser.parse_args()
    if chosen.compare:
        old, new = (pickle.loads(path.read_bytes()) for path in chosen.compare)
    elif chosen.out:
        import sklearn_cvb

        print(f"fitting with {sklearn_cvb.__file__}", flush=True)
        new = run(chosen.only)
        chosen.out.write_bytes(pickle.dumps(new))
        if not chosen.against:
            return 0
        old = pickle.loads(chosen.against.read_bytes())
    else:
        parser.error("name a file to write, or two with --compare")
    names = [name for name in old if name in new]
    lines = [line for name in names for line in compare(old, new, name)]
    print("\n".join(lines) or f"the same to the last bit: {', '.join(names)}")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
