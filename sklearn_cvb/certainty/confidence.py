"""How far estimates of maximum likelihood would be elsewhere on other data like these."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit, ndtri
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_cvb.certainty.calibrated import observed_errors
from sklearn_cvb.certainty.symbols import SymbolPosterior, SymbolStructures
from sklearn_cvb.chain.parameters.rows import word_major
from sklearn_cvb.learning.generators import spawn_generators
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading.corpus import is_missing
from sklearn_cvb.reading.series import OfOneKind
from sklearn_cvb.reading.validation import Seed
from sklearn_cvb.settings import Symbols

_NAMES = ("start", "transition", "emission")


class ConfidenceIntervals(NamedTuple):
    """Ends of confidence intervals, lower ends first, and standard errors.

    Attributes
    ----------
    start, transition, emission
        As of `CredibleIntervals`; `emission` of numbers is a dict by the names of fitted
        attributes without underscore, such as "means", in their shapes.
    standard_errors : dict
        Of the probabilities and parameters, by the names "start", "transition" and "emission".
    """

    start: np.ndarray
    transition: np.ndarray
    emission: Any
    standard_errors: dict[str, Any]


def by_information(
    hmm: Any, read: Reading, level: float, random_state: Seed
) -> ConfidenceIntervals:
    """Normal intervals of log odds by the observed information (Louis 1982)."""
    model, learned = hmm._model(read), hmm._learned
    rng = spawn_generators(check_random_state(random_state), 1)[0]
    posterior, structures = SymbolPosterior(learned), SymbolStructures(model)
    mean, errors = observed_errors(structures, posterior.counts(), learned.prior, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = ndtri(0.5 + 0.5 * level) * errors / (1.0 - mean)
        ends = [expit(logit(mean) + side * half) for side in (-1.0, 1.0)]
    # What is 0 or 1 has no odds.
    inside = (mean > 0.0) & (mean < 1.0)
    ends = [np.where(inside, end, mean) for end in ends]
    tables = [_public(structures, values) for values in (*ends, mean * errors)]
    start, transition, emission = (np.stack(both) for both in zip(*tables[:2], strict=True))
    errors_of = dict(zip(_NAMES, tables[2], strict=True))
    return ConfidenceIntervals(start, transition, emission, errors_of)


def _public(structures: SymbolStructures, values: np.ndarray) -> list[np.ndarray]:
    """Values of all cells as tables of start, transitions and emissions, (n_states, n_symbols)."""
    cells, table = structures.model.cells, structures.weights_at(values)
    emission: Any = word_major(cells, table.emission)
    dense = emission.toarray() if hasattr(emission, "toarray") else emission
    n = cells.n_emitting
    return [table.start[:n], table.transition[:n, :n], dense.T]


def by_bootstrap(
    hmm: Any,
    read: Reading,
    y: Any,
    asked: tuple[float, int],
    n_jobs: int | None,
    random_state: Seed,
) -> ConfidenceIntervals:
    """Quantiles of fits to data drawn from the model, as long and labelled as the true ones.

    `asked` are the level and the number of fits.
    """
    level, n_bootstrap = asked
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_bootstrap)
    starts, contexts = read.problem.given.starts, getattr(read.problem, "contexts", None)
    lengths = np.diff(starts)
    if contexts is not None:
        contexts = np.split(contexts, starts[1:-1])
    again = clone(hmm).set_params(
        init=hmm, n_init=1, warm_start=False, checkpoint=None, verbose=0, n_jobs=1
    )
    if hmm._emits_symbols:
        known = hmm._options(to_fit=False).words
        symbols = Symbols(hmm.vocabulary_.tolist(), handle_unknown=known.handle_unknown)
        again.set_params(emission=symbols)

    def as_read(drawn: np.ndarray) -> list[Any]:
        columns = getattr(read.problem, "columns", None)
        return list(drawn) if columns is None else OfOneKind(drawn, columns)

    def refitted(seed: int) -> list[Any]:
        X, states = hmm.sample(len(lengths), lengths, random_state=seed, contexts=contexts)
        known = None if y is None or hmm.supervision != "y" else _masked(states, y)
        fit = clone(again).set_params(init=hmm, random_state=seed).fit(as_read(X), known)
        return [fit.startprob_, fit.transmat_, _emissions(fit)]

    found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(refitted)(seed) for seed in seeds)
    tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
    ends = [_over(found, i, lambda table: np.quantile(table, tails, axis=0)) for i in range(3)]
    errors = [_over(found, i, lambda table: table.std(axis=0, ddof=1)) for i in range(3)]
    start, transition, emission = ends
    return ConfidenceIntervals(start, transition, emission, dict(zip(_NAMES, errors, strict=True)))


def _over(found: list[Any], place: Any, summary: Callable[[np.ndarray], Any]) -> Any:
    """A summary over all refits of the table at a place, or of each in a dict or list there."""
    tables = [one[place] for one in found]
    if isinstance(tables[0], dict):
        return {name.removesuffix("_"): _over(tables, name, summary) for name in tables[0]}
    if isinstance(tables[0], list):
        return [_over(tables, i, summary) for i in range(len(tables[0]))]
    return summary(np.array(tables))


def _emissions(fit: Any) -> Any:
    """What states emit: a table of symbols, or a dict of what numbers have."""
    if fit._emits_symbols:
        return fit.emissionprob_
    numeric = fit._learned.more.numeric
    return numeric.family.attributes(numeric.point)


def _masked(states: Any, y: Any) -> list[list[Any]]:
    """Drawn states where the true ones are known."""
    return [
        [
            None if is_missing(label) or label == -1 else state
            for state, label in zip(*row, strict=True)
        ]
        for row in zip(states, y, strict=True)
    ]
