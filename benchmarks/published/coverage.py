"""How often intervals hold the truth: ``python -m benchmarks.published coverage``.

Parameters are drawn from the prior, sequences from the parameters, and a few labels or a dictionary
name the states. An exact posterior then holds each probability in its 95 % interval 95 % of the
time, and the next value in its 90 % forecast 90 % of the time.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.published.tables import Table
from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    GibbsHMM,
    GibbsHMMTagger,
    Grammar,
    Samples,
    Symbols,
    VBHMMTagger,
)
from sklearn_cvb.certainty.intervals import mixture_intervals
from sklearn_cvb.emissions import Gaussian

LEVELS = (0.5, 0.8, 0.95)
PRIOR = 1.0
# What is nowhere: the prior of a cell that a dictionary rules out.
_NOTHING = 1e-10
_LENGTHS = (20, 50, 200, 1000)
_SHOWN = {"transition": "transitions", "emission": "emissions"}


class Cell(NamedTuple):
    """What is simulated: sizes, the share of labelled tokens, or a dictionary."""

    n_states: int
    n_symbols: int
    n_sequences: int
    length: int
    labelled: float = 0.0
    is_listed: bool = False  # a dictionary lists one or two states for each symbol


CELLS = {
    "labels_small": Cell(3, 8, 12, 10, 0.1),
    "labels_many": Cell(3, 8, 12, 10, 0.4),
    "labels_3": Cell(3, 10, 50, 20, 0.1),
    "labels_5": Cell(5, 50, 100, 20, 0.1),
    "dictionary_3": Cell(3, 30, 50, 20, is_listed=True),
    "dictionary_5": Cell(5, 50, 100, 20, is_listed=True),
    "unlabelled_3": Cell(3, 10, 50, 20),
    "unlabelled_5": Cell(5, 50, 100, 20),
}


class Simulated(NamedTuple):
    """A data set: the true tables, sequences, what is known of states, and legal states."""

    transition: np.ndarray
    emission: np.ndarray
    X: list[Any]
    y: list[Any] | None
    legal: np.ndarray  # (n_states, n_symbols)

    @property
    def is_named(self):
        """Whether each state has a label, where labels are to name them."""
        return self.y is None or len({z for row in self.y for z in row} - {-1}) == len(self.legal)


def simulated(rng, cell):
    """Probabilities from the prior, sequences from these, and labels of some tokens."""
    n, n_symbols, n_sequences, length, labelled, is_listed = cell
    legal = np.ones((n, n_symbols), bool)
    if is_listed:
        legal = np.arange(n)[:, None] == np.arange(n_symbols) % n
        legal[rng.integers(n, size=n_symbols), np.arange(n_symbols)] = True
    start, transition = rng.dirichlet(np.full(n, PRIOR)), rng.dirichlet(np.full(n, PRIOR), n)
    emission = np.zeros(legal.shape)
    for row, own in zip(emission, legal, strict=True):
        row[own] = rng.dirichlet(np.full(np.count_nonzero(own), PRIOR))
    X, y = [], []
    for _ in range(n_sequences):
        states = [int(rng.choice(n, p=start))]
        while len(states) < length:
            states.append(int(rng.choice(n, p=transition[states[-1]])))
        X.append([int(rng.choice(n_symbols, p=emission[state])) for state in states])
        shown = rng.random(length) < labelled
        y.append([z if here else -1 for z, here in zip(states, shown, strict=True)])
    return Simulated(transition, emission, X, y if labelled else None, legal)


def fitted(kind, cell, data, seed, **settings):
    """A model of what is simulated."""
    symbols = Symbols(range(cell.n_symbols), handle_unknown="error")
    common = {"alpha": PRIOR, "emission": symbols, "random_state": seed} | settings
    if not cell.is_listed:
        supervision = "none" if data.y is None else "y"
        model = kind(cell.n_states, beta=PRIOR, supervision=supervision, **common)
        return model.fit(data.X, data.y)
    listed = {w: np.flatnonzero(own).tolist() for w, own in enumerate(data.legal.T)}
    beta = np.where(data.legal, PRIOR, _NOTHING)
    return _TAGGERS[kind](listed, beta=beta, **common).fit(data.X)


_TAGGERS = {VBHMM: VBHMMTagger, CVBHMM: CVBHMMTagger, GibbsHMM: GibbsHMMTagger}


def _variational(kind, method, cell, data, seed):
    """Intervals by level of VB or CVB."""
    model = fitted(kind, cell, data, seed, n_init=1 if data.y or cell.is_listed else 5)
    if method == "mean field":
        return model.credible_intervals
    draws = model.credible_intervals(data.X, data.y, random_state=seed).draws
    return partial(mixture_intervals, draws.posteriors, draws.layout)


def _sampled(n_sweeps, update, cell, data, seed):
    """Intervals by level of a chain, half of whose sweeps are burnt in."""
    samples = Samples(n_sweeps // 2, thin=max(4, n_sweeps // 200))
    model = fitted(GibbsHMM, cell, data, seed, samples=samples, update=update, max_iter=n_sweeps)
    return model.credible_intervals


METHODS = {
    "VB, mean field": partial(_variational, VBHMM, "mean field"),
    "CVB, mean field": partial(_variational, CVBHMM, "mean field"),
    "VB, calibrated": partial(_variational, VBHMM, "calibrated"),
    "CVB, calibrated": partial(_variational, CVBHMM, "calibrated"),
    "Gibbs token, 400 sweeps": partial(_sampled, 400, "token"),
    "Gibbs parameter, 400 sweeps": partial(_sampled, 400, "parameter"),
    "Gibbs token, 2,000 sweeps": partial(_sampled, 2000, "token"),
}


def coverage(n_replications, cell, levels=LEVELS, methods=tuple(METHODS)):
    """Shares of true probabilities inside their intervals, and how wide these are.

    `methods`: keys of `METHODS`. Returns by method: ``inside``, shape (2, n_levels): transitions,
    then emissions; ``width``, mean widths of the same shape; ``error``, standard errors of
    ``inside`` over replications.
    """
    rng, tables, done = np.random.default_rng(0), {name: [] for name in methods}, 0
    while done < n_replications:
        data = simulated(rng, cell)
        # This is seen in the data: leaving such data out keeps an exact posterior exact.
        if not data.is_named:
            continue
        for name in methods:
            tables[name].append(_inside(METHODS[name](cell, data, done), data, levels))
        done += 1
    return {name: _summary(np.array(rows)) for name, rows in tables.items()}


def _inside(intervals, data, levels):
    """Mean coverage and width of transitions and emissions by level: (2, 2, n_levels)."""
    result, order = np.empty((2, 2, len(levels))), None
    for column, level in enumerate(levels):
        found = intervals(level=level)
        if order is None:
            order = _order(found.emission.mean(axis=0), data)
        steps = data.transition[np.ix_(order, order)]
        truths = (steps, np.ones(steps.shape, bool)), (data.emission[order], data.legal[order])
        for row, (name, (true, shown)) in enumerate(zip(_SHOWN, truths, strict=True)):
            lower, upper = getattr(found, name)
            result[0, row, column] = np.mean(((lower <= true) & (true <= upper))[shown])
            result[1, row, column] = np.mean((upper - lower)[shown])
    return result


def _order(emission, data):
    """The true state of each one found: by what they emit, where nothing names them."""
    if data.y is not None or not data.legal.all():
        return np.arange(len(emission))
    apart = np.abs(emission[:, None] - data.emission[None]).sum(axis=2)
    return linear_sum_assignment(apart)[1]


def _summary(rows):
    inside, width = rows.mean(axis=0)
    error = rows[:, 0].std(axis=0, ddof=1) / np.sqrt(len(rows))
    return {"inside": inside.tolist(), "width": width.tolist(), "error": error.tolist()}


# Numbers

_PRIOR_OF_NUMBERS = {
    "mean_prior": [0.0],
    "mean_precision_prior": 0.1,
    "degrees_of_freedom_prior": 6.0,
    "covariance_prior": [4.0],
}


def series(rng, n_states, length):
    """Transitions, means and variances from their prior, states and values drawn from these."""
    transition = rng.dirichlet(np.full(n_states, PRIOR), n_states)
    variance = 1.0 / rng.gamma(3.0, 0.5, n_states)
    mean, states = rng.normal(0.0, np.sqrt(variance / 0.1)), [0]
    while len(states) < length:
        states.append(int(rng.choice(n_states, p=transition[states[-1]])))
    states = np.array(states)
    return transition, mean, variance, states, rng.normal(mean[states], np.sqrt(variance[states]))


def numbers(n_replications, n_states, length=100, level=0.9):
    """Coverage of means, variances and transitions where a tenth of the steps are labelled."""
    rng, rows = np.random.default_rng(0), {"mean field": [], "calibrated": []}
    while len(rows["calibrated"]) < n_replications:
        transition, mean, variance, states, x = series(rng, n_states, length)
        y = [np.where(rng.random(length) < 0.1, states, -1)]
        if len(set(y[0].tolist()) - {-1}) < n_states:
            continue
        seed = len(rows["calibrated"])
        emission = Gaussian("diag", **_PRIOR_OF_NUMBERS)
        settings = {"emission": emission, "alpha": PRIOR, "random_state": seed}
        model = CVBHMM(n_states, supervision="y", **settings).fit([x], y)
        for name, own in rows.items():
            found = model.credible_intervals([x], y, level, method=name, random_state=seed)
            truths = (
                (mean, found.emission["means"][:, :, 0]),
                (
                    variance,
                    found.emission["variances"][:, :, 0],
                ),
            )
            truths = (*truths, (transition, found.transition))
            own.append([np.mean((ends[0] <= true) & (true <= ends[1])) for true, ends in truths])
    return {
        name: {
            "inside": np.mean(own, axis=0).tolist(),
            "error": (np.std(own, axis=0, ddof=1) / np.sqrt(n_replications)).tolist(),
        }
        for name, own in rows.items()
    }


def forecasts(n_replications, length, level=0.9):
    """How often the next value is inside its forecast, and how wide that is."""
    rng, rows = np.random.default_rng(0), []
    for seed in range(n_replications):
        *_, x = series(rng, 2, length + 1)
        emission = Gaussian("diag", **_PRIOR_OF_NUMBERS)
        model = CVBHMM(2, emission=emission, alpha=PRIOR, random_state=seed).fit([x[:-1]])
        draws = model.credible_intervals([x[:-1]], random_state=seed).draws
        row = []
        for given in (None, draws):
            found = model.predict_next([x[:-1]], level=level, random_state=seed, draws=given)
            lower, upper = found.lower.item(), found.upper.item()
            row.append([lower <= x[-1] <= upper, upper - lower])
        rows.append(row)
    inside, width = np.mean(rows, axis=0).T
    return {"inside": inside.tolist(), "width": width.tolist(), "n": n_replications}


# Trees

_RULES = """
S -> A S [{}] | B S [{}] | A [{}] | B [{}]
A -> 'a' [{}] | 'b' [{}] | 'c' [{}]
B -> 'a' [{}] | 'b' [{}] | 'd' [{}]
"""
_LONGEST = 15


def sentence_of_grammar(rng, rules):
    """Words of the right-branching grammar; None where there are too many."""
    words = []
    while len(words) < _LONGEST:
        rule = rng.choice(4, p=rules[0])
        words.append(["abc", "abd"][rule % 2][rng.choice(3, p=rules[1 + rule % 2])])
        if rule >= 2:
            return words
    return None


def sentence_of_tags(rng, root, attach, stop):
    """Tags of a dependency tree with valence; None where there are too many."""
    left = iter(range(_LONGEST))

    def grown(head):
        next(left)
        sides = [[], []]
        for side, found in enumerate(sides):
            while rng.random() > stop[head, side, min(len(found), 1)]:
                found.append(grown(int(rng.choice(len(root), p=attach[head, side]))))
        before, after = ([tag for child in found for tag in child] for found in sides)
        return [*before, head, *after]

    try:
        return grown(int(rng.choice(len(root), p=root)))
    except StopIteration:
        return None


def drawn_sentences(n, draw):
    """This many sentences, None where more than one in fifty is too long."""
    found = [draw() for _ in range(n)]
    kept = [one for one in found if one is not None]
    return kept if len(kept) > 0.98 * n else None


def grammar_case(rng, seed):
    """A fitted grammar, its sentences and its true probabilities."""
    rules = [rng.dirichlet(np.full(n, PRIOR)) for n in (4, 3, 3)]
    X = drawn_sentences(60, lambda: sentence_of_grammar(rng, rules))
    if X is None:
        return None
    even = _RULES.format(*[0.25] * 4, *[1 / 3] * 6)
    model = CVBPCFG(Grammar.from_text(even), alpha=PRIOR, random_state=seed).fit(X)
    return model, X, np.concatenate(rules)


def dependency_case(rng, seed):
    """A fitted dependency model, its sentences and its true probabilities."""
    n = 2
    root, attach = rng.dirichlet(np.full(n, PRIOR)), rng.dirichlet(np.full(n, PRIOR), (n, 2))
    stop = rng.random((n, 2, 2))
    X = drawn_sentences(100, lambda: sentence_of_tags(rng, root, attach, stop))
    if X is None or len({tag for row in X for tag in row}) < n:
        return None
    settings = {"alpha": PRIOR, "handle_unknown": "error", "random_state": seed}
    model = CVBDMV(**settings).fit(X)
    decisions = np.stack([stop, 1.0 - stop], axis=-1)
    return model, X, np.concatenate([attach.ravel(), root, decisions.ravel()])


def trees(n_replications, case, levels=LEVELS):
    """Coverage of calibrated intervals of all probabilities of a grammar, by level."""
    rng, rows = np.random.default_rng(0), []
    while len(rows) < n_replications:
        found = case(rng, len(rows))
        if found is None:
            continue
        model, X, truth = found
        draws = [model.credible_intervals(X, level=one, random_state=len(rows)) for one in levels]
        ends = [(_in_line(one.lower), _in_line(one.upper)) for one in draws]
        rows.append([np.mean((low <= truth) & (truth <= high)) for low, high in ends])
    error = np.std(rows, axis=0, ddof=1) / np.sqrt(n_replications)
    return {"inside": np.mean(rows, axis=0).tolist(), "error": error.tolist()}


def _in_line(ends):
    """Ends of all cells one after the other, the root behind attachments."""
    if isinstance(ends, np.ndarray):
        return ends
    return np.concatenate([ends.attach.ravel(), ends.root, ends.stop.ravel()])


# Estimates of EM


def estimates(n_replications, cell, level=0.95):
    """Coverage and width of confidence intervals, transitions and emissions."""
    rng, rows = np.random.default_rng(0), []
    while len(rows) < n_replications:
        data = simulated(rng, cell)
        if not data.is_named:
            continue
        model = fitted_by_em(cell, data, len(rows))
        found = model.confidence_intervals(data.X, data.y, level)
        ends = (data.transition, found.transition), (data.emission, found.emission)
        rows.append([np.mean((low <= true) & (true <= high)) for true, (low, high) in ends])
    error = np.std(rows, axis=0, ddof=1) / np.sqrt(n_replications)
    return {"inside": np.mean(rows, axis=0).tolist(), "error": error.tolist()}


def fitted_by_em(cell, data, seed):
    """Maximum a posteriori in the softmax basis, under the prior that was drawn from."""
    symbols = Symbols(range(cell.n_symbols), handle_unknown="error")
    settings = {"alpha": PRIOR, "beta": PRIOR, "emission": symbols, "random_state": seed}
    model = EMHMM(cell.n_states, supervision="y", tol=1e-8, max_iter=5000, **settings)
    return model.fit(data.X, data.y)


# The experiment


def _replications(settings, usual=200):
    return 3 if settings.quick else settings.replications or usual


def _of_cell(name, settings):
    few = ("CVB, mean field", "CVB, calibrated", "Gibbs token, 2,000 sweeps")
    every = name in ("labels_small", "labels_many")
    n = _replications(settings)
    return {"n": n, "found": coverage(n, CELLS[name], methods=tuple(METHODS) if every else few)}


def _numbers(settings):
    n = _replications(settings)
    return {"n": n, "found": {str(k): numbers(n, k) for k in (2, 3)}}


def _forecasts(settings):
    lengths = _LENGTHS[:1] if settings.quick else _LENGTHS
    return {"found": {str(t): forecasts(_replications(settings), t) for t in lengths}}


def _estimates(settings):
    n = _replications(settings)
    return {"n": n, "found": estimates(n, CELLS["labels_3"])}


def _trees(settings):
    n = _replications(settings)
    cases = {"context-free grammar": grammar_case, "dependency model": dependency_case}
    return {"n": n, "found": {name: trees(n, case) for name, case in cases.items()}}


PARTS = {
    **{name: partial(_of_cell, name) for name in CELLS},
    "numbers": _numbers,
    "forecasts": _forecasts,
    "trees": _trees,
    "estimates": _estimates,
}


def shown(share, error):
    """A share in per cent with its standard error."""
    return f"{100 * share:.1f} ({100 * error:.1f})"


def of_cell(name, part):
    """Coverage in per cent and mean widths of one cell."""
    cell, header, rows = CELLS[name], ["intervals"], []
    for kind in _SHOWN.values():
        header += [f"{kind}, {100 * level:.0f} %" for level in LEVELS] + ["width"]
    for method, found in part["found"].items():
        cells = [method]
        for shares, errors, widths in zip(
            *map(found.get, ("inside", "error", "width")), strict=True
        ):
            cells += [*map(shown, shares, errors), f"{widths[-1]:.3f}"]
        rows.append(cells)
    known = f"{100 * cell.labelled:.0f} % of the tokens labelled"
    known = "a dictionary" if cell.is_listed else known if cell.labelled else "nothing known"
    title = (
        f"{cell.n_states} states, {cell.n_symbols} symbols, {cell.n_sequences} sequences of "
        f"{cell.length} tokens, {known}; {part['n']} data sets (widths are those at 95 %)"
    )
    return Table(header, rows, title)


def tables(results):
    """Coverage in per cent of all parts that were run."""
    found = {name: of_cell(name, results[name]) for name in CELLS if name in results}
    if "numbers" in results:
        part = results["numbers"]
        rows = [
            [n_states, method, *map(shown, own["inside"], own["error"])]
            for n_states, methods in part["found"].items()
            for method, own in methods.items()
        ]
        title = f"Gaussian series of 100 steps at 90 %, 10 % labelled; {part['n']} data sets"
        header = ["states", "intervals", "means", "variances", "transitions"]
        found["numbers"] = Table(header, rows, title)
    if "forecasts" in results:
        rows = [
            [length, one["n"], *(f"{100 * share:.1f}" for share in one["inside"])]
            + [f"{width:.2f}" for width in one["width"]]
            for length, one in results["forecasts"]["found"].items()
        ]
        header = ["steps", "series", "fitted parameters", "draws", "width", "width of draws"]
        found["forecasts"] = Table(header, rows, "Next values inside their 90 % forecast, per cent")
    if "trees" in results:
        part = results["trees"]
        rows = [
            [name, *map(shown, one["inside"], one["error"])] for name, one in part["found"].items()
        ]
        header = ["model", *(f"{100 * level:.0f} %" for level in LEVELS)]
        title = f"Probabilities of grammars inside calibrated intervals; {part['n']} data sets"
        found["trees"] = Table(header, rows, title)
    if "estimates" in results:
        part = results["estimates"]
        row = list(map(shown, part["found"]["inside"], part["found"]["error"]))
        title = f"EM by Louis' information at 95 %, as labels_3; {part['n']} data sets"
        found["estimates"] = Table(["transitions", "emissions"], [row], title)
    return found


def draw(results, folder):
    """No pictures."""
