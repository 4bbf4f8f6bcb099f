"""Rows that sum up a fitted model, from its public attributes: states, symbols, words.

A row is a state, a tag, a symbol, a head or a source word, and what is most probable for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from sklearn_cvb.display.texts import text_of_one

# So many rows are shown, and so many things in each.
MOST_ROWS, MOST_THINGS = 30, 6
# A sentence is shown if it has no more.
MOST_WORDS = 12
# What is less probable is not worth a place.
_LEAST = 0.005
_UNKNOWN = "(unknown)"


class StateSummary(NamedTuple):
    """A name, such as a state's, and what goes with it."""

    name: str
    share: float | None  # of all that it accounts for
    # None where a text says it all without a probability.
    most_probable: list[tuple[str, float | None]]
    mean_and_deviation: tuple[float, float] | None = None  # of one column


class ModelTable(NamedTuple):
    """The rows of a model, under two headings, and how many more, and unused ones, there are."""

    row_title: str
    content_title: str
    rows: list[StateSummary]
    n_more: int
    transitions: np.ndarray | None = None  # probabilities from row to row
    n_unused: int = 0
    tree: Any = None  # of the first of the sentences that are short

    @property
    def rest(self) -> str:
        """A line on states that are not among the rows; empty where all are."""
        unused = f"{self.n_unused} unused" if self.n_unused else ""
        more = f"{self.n_more} more" if self.n_more else ""
        return f"and {' and '.join(filter(None, [more, unused]))}" if more or unused else ""


def summary_of_model(model: Any) -> ModelTable:
    """The rows of a fitted model; TypeError if it is none of this package."""
    for attribute, read in _READERS.items():
        if hasattr(model, attribute):
            return read(model)
    raise TypeError(f"model is {model!r}: give a fitted model of sklearn_cvb")


def _of_chain(model: Any) -> ModelTable:
    """States or tags, what they emit, and what follows them."""
    transition = np.asarray(model.transmat_)
    n_states = transition.shape[-1]
    moved = np.asarray(model.counts_.transition).reshape(-1, n_states)
    held = (np.asarray(model.counts_.start) + moved.sum(axis=0))[:n_states]
    lasting = vars(model).get("durations_")
    if lasting is not None:
        # What was entered are visits.
        held = held * (lasting @ np.arange(1.0, lasting.shape[1] + 1.0))
        endless, paths = np.diagonal(transition) > 0, vars(model).get("labels_")
        if endless.any() and paths is not None:
            # How long these last nothing but the sequences tells.
            states = np.concatenate(list(paths)).astype(int)
            held = np.where(endless, np.bincount(states[states >= 0], minlength=n_states), held)
    shares = _shares_of(held)
    is_tagger = hasattr(model, "classes_")
    names = model.classes_ if is_tagger else range(n_states)
    emitted = _frequent_symbols(model) if hasattr(model, "vocabulary_") else None
    does = "most frequent symbols" if emitted else "values"
    numbers = [] if emitted else _numbers_of(vars(model)) or _tables_of(model, n_states)
    used = _is_used(model, np.asarray(model.counts_.start) + moved.sum(axis=0))[:n_states]
    # Many states of few tokens may all hold less than half of one.
    used = used | ~used.any()
    # Tags keep their order, and so do few states.
    shown = np.flatnonzero(used)
    if len(shown) > MOST_ROWS:
        shown = _most_used(shares)
    moments = _moments_of(vars(model))
    rows = []
    for k in shown.tolist():
        best = emitted(k) if emitted else [(texts[k], None) for texts in numbers]
        # A column that is shown as a number is shown as a line, too.
        spread = None
        if moments is not None and moments[0].shape[1] == 1:
            spread = float(moments[0][k, 0]), float(moments[1][k, 0])
        rows.append(StateSummary(text_of_one(names[k]), float(shares[k]), best, spread))
    kind = "tag" if is_tagger else "state"
    # Where each context has transitions of its own there is no one picture of them.
    steps = transition[np.ix_(shown, shown)] if transition.ndim == 2 else None
    n_used = int(used.sum())
    return ModelTable(kind, does, rows, n_used - len(rows), steps, len(shares) - n_used)


def _of_clusters(model: Any) -> ModelTable:
    """The states of each cluster."""
    states, n_states = _of_chain(model.hmm_), model.startprob_.shape[1]
    places = [divmod(int(row.name), n_states) for row in states.rows]
    rows = [
        row._replace(name=f"{cluster}, state {state}")
        for row, (cluster, state) in zip(states.rows, places, strict=True)
    ]
    return states._replace(row_title="cluster", rows=rows)


def _is_used(model: Any, uses: np.ndarray) -> np.ndarray:
    """Which states hold half a token or more; all where no data were seen."""
    used: np.ndarray = uses >= (0.5 if hasattr(model, "history_") else -np.inf)
    return used


def _frequent_symbols(model: Any) -> Any:
    """A function from a state to the symbols that it was expected to emit most often."""
    table = csc_array(model.counts_.emission)
    words = [*map(text_of_one, model.vocabulary_), _UNKNOWN]

    def of_state(k: int) -> list[tuple[str, float | None]]:
        begin, end = table.indptr[k : k + 2].tolist()
        values, rows = table.data[begin:end], table.indices[begin:end]
        return _most_probable((words[row] for row in rows.tolist()), _shares_of(values))

    return of_state


def _most_used(uses: np.ndarray) -> np.ndarray:
    """Places of what is used most, in this order, as many as are shown."""
    return np.argsort(-uses, kind="stable")[:MOST_ROWS]


def _shares_of(uses: np.ndarray) -> np.ndarray:
    return uses / max(uses.sum(), np.finfo(float).tiny)


def _most_probable(names: Iterable[str], shares: np.ndarray) -> list[tuple[str, float | None]]:
    """The most probable things, with their probabilities."""
    named = list(names)
    order = np.argsort(-shares, kind="stable")[:MOST_THINGS].tolist()
    return [(named[i], float(shares[i])) for i in order if shares[i] >= _LEAST]


def _numbers_of(attributes: Mapping[Any, Any]) -> list[list[str]]:
    """For each parameter of what states emit a text for each state; empty for symbols."""
    if "parts_" in attributes:
        return [texts for part in attributes["parts_"] for texts in _numbers_of(part)]
    if "mixture_" in attributes:
        weights = np.asarray(attributes["weights_"])
        shares = [[f"{100 * w:.0f} %" for w in column] for column in weights.T]
        parts = [text for part in attributes["mixture_"] for text in _numbers_of(part)]
        # A component of zeros has nothing but its share.
        rest = shares[: len(shares) - len(attributes["mixture_"])]
        return [*rest, *parts, *shares[len(rest) :]]
    moments = _moments_of(attributes)
    if moments is not None:
        tables = np.stack(moments, axis=-1)
        rows = tables[:, :MOST_THINGS].tolist()
        return [[", ".join(f"{m:.3g} ± {s:.2g}" for m, s in row) for row in rows]]
    if "directions_" in attributes:
        tables = np.stack([attributes["directions_"], attributes["concentrations_"]], axis=-1)
        rows = tables[:, :MOST_THINGS].tolist()
        return [[", ".join(f"angle {a:.3g} (concentration {k:.3g})" for a, k in r) for r in rows]]
    if "coefficients_" in attributes:
        # Of the first output: the intercept, and slopes.
        lines = zip(attributes["intercepts_"], attributes["coefficients_"], strict=True)
        rows = [[intercept[0], *slopes[:MOST_THINGS, 0]] for intercept, slopes in lines]
        return [[f"line {', '.join(f'{x:.3g}' for x in row)}" for row in rows]]
    for name, word in (("rates_", "rate"), ("probabilities_", "p(1)")):
        if name in attributes:
            table = np.asarray(attributes[name])[:, :MOST_THINGS]
            return [[f"{word} {', '.join(f'{x:.3g}' for x in row)}" for row in table]]
    tables = attributes.get("category_probabilities_", [])
    return [[f"category {row.argmax()} ({row.max():.0%})" for row in table] for table in tables]


def _tables_of(model: Any, n_states: int) -> list[list[str]]:
    """Texts of an emission that `_numbers_of` does not know: of its tables with a row a state."""
    numeric = model._learned.extra.numeric
    tables = {
        name.removesuffix("_"): np.asarray(table)
        for name, table in numeric.family.attributes(numeric.point).items()
    }
    return [
        [f"{name} {', '.join(f'{x:.3g}' for x in row[:MOST_THINGS].tolist())}" for row in table]
        for name, table in tables.items()
        if table.ndim == 2 and len(table) == n_states
    ]


def _moments_of(attributes: Mapping[Any, Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Middles and widths (K, D) of normal and of Student's t columns; None of others."""
    if "locations_" in attributes:
        return np.asarray(attributes["locations_"]), np.asarray(attributes["scales_"])
    if "means_" not in attributes:
        return None
    means = np.asarray(attributes["means_"])
    variances = np.asarray(attributes["covariances_"])
    if variances.ndim == 3:
        variances = np.diagonal(variances, axis1=1, axis2=2)
    elif variances.ndim == 1:
        variances = np.broadcast_to(variances[:, None], means.shape)
    # A table of variances, or one matrix for all states, which may have the shape of such a
    # table: that is inverted cell by cell.
    elif variances.shape != means.shape or not np.allclose(
        variances * attributes["precisions_"], 1.0
    ):
        variances = np.broadcast_to(np.diagonal(variances), means.shape)
    return means, np.sqrt(variances)


def _of_grammar(model: Any) -> ModelTable:
    """Symbols and their most probable rules."""
    grammar, probabilities = model.rules_, np.asarray(model.rule_probabilities_)
    names = [text_of_one(symbol) for symbol in grammar.symbols]
    parents = np.array([rule.parent for rule in grammar.rules])
    uses = np.bincount(parents, model.counts_.rule, len(names))
    shares = _shares_of(uses)
    shown = np.sort(_most_used(uses)).tolist()
    rows = []
    for symbol in shown:
        cells = np.flatnonzero(parents == symbol)
        texts = []
        for i in cells.tolist():
            # Words stand in quotes.
            parts = [
                " ".join(repr(text_of_one(word)) for word in part)
                if isinstance(part, tuple)
                else names[part]
                for part in grammar.rules[i].right
            ]
            texts.append(" ".join(parts))
        best = _most_probable(texts, probabilities[cells])
        rows.append(StateSummary(names[symbol], float(shares[symbol]), best))
    # Those of a table are numbers, which a picture of one sentence would not explain.
    found = (tree for tree in getattr(model, "labels_", ()) if hasattr(tree, "leaves"))
    trees = (tree for tree in found if len(tree.leaves()) <= MOST_WORDS)
    does, n_more = "most probable rules", len(names) - len(rows)
    return ModelTable("symbol", does, rows, n_more, tree=next(trees, None))


def _of_dependencies(model: Any) -> ModelTable:
    """Heads and their most probable dependents on either side."""
    # With an extended valence a table without and one with a child on that side.
    attach = np.asarray(model.attachprob_)
    tables = attach if attach.ndim == 3 else attach.mean(axis=2)
    arcs = model.counts_.attach.reshape(len(tables), -1).sum(axis=1)
    names = [*map(text_of_one, model.vocabulary_), _UNKNOWN][: len(tables)]
    shares = _shares_of(arcs)
    used = _is_used(model, arcs)
    shown = [head for head in np.sort(_most_used(arcs)).tolist() if used[head]]
    rows = [StateSummary("(root)", None, _most_probable(names, np.asarray(model.rootprob_)))]
    for head in shown:
        best = []
        for side, arrow in enumerate("←→"):
            found = _most_probable(names, tables[head, side])[: MOST_THINGS // 2]
            best += [(f"{arrow} {name}", share) for name, share in found]
        rows.append(StateSummary(names[head], float(shares[head]), best))
    does = "most probable dependents, left (←) and right (→)"
    n_used = int(used.sum())
    return ModelTable("head", does, rows, n_used - len(shown), None, len(names) - n_used)


def _of_alignment(model: Any) -> ModelTable:
    """Source words and their most probable translations."""
    lexicon = model.lexicon_
    uses = np.asarray(model.counts_.lexicon.sum(axis=1)).ravel()[: len(lexicon.source)]
    shares = _shares_of(uses)
    rows = []
    for i in _most_used(uses).tolist():
        found = lexicon.translations(lexicon.source[i], MOST_THINGS)
        best: list[tuple[str, float | None]] = [
            (text_of_one(word), p) for word, p in found if p >= _LEAST
        ]
        rows.append(StateSummary(text_of_one(lexicon.source[i]), float(shares[i]), best))
    does = "most probable translations"
    return ModelTable("source word", does, rows, len(lexicon.source) - len(rows))


def _of_treebank(model: Any) -> ModelTable:
    """Symbols and how many subtypes they have."""
    symbols = sorted(model.n_subtypes_.items(), key=lambda item: -item[1])
    rows = [
        StateSummary(text_of_one(symbol), None, [(f"{n} subtypes" if n > 1 else "1 subtype", None)])
        for symbol, n in symbols[:MOST_ROWS]
    ]
    return ModelTable("symbol", "hidden subtypes", rows, len(symbols) - len(rows))


def _of_classes(model: Any) -> ModelTable:
    """Classes, and the model of each: its size, its objective, and how its fit went."""
    shares = np.exp(model.class_log_prior_)
    # Few classes keep their order.
    shown = _most_used(shares) if len(shares) > MOST_ROWS else np.arange(len(shares))
    rows = []
    for k in shown.tolist():
        texts = [
            _number_of_things(int(model.class_count_[k]), "sequence"),
            *_fit_of(model.estimators_[k]),
        ]
        best: list[tuple[str, float | None]] = [(", ".join(texts), None)]
        rows.append(StateSummary(text_of_one(model.classes_[k]), float(shares[k]), best))
    return ModelTable("class", "learned from, and the model", rows, len(shares) - len(rows))


def _fit_of(model: Any) -> list[str]:
    """States, objective and sweeps of a fitted model, as far as it has these."""
    texts = []
    if hasattr(model, "transmat_"):
        texts.append(_number_of_things(np.shape(model.transmat_)[-1], "state"))
    if hasattr(model, "objective_"):
        texts.append(f"objective {model.objective_:.6g}")
    if hasattr(model, "history_"):
        texts.append(sweeps_and_convergence(model))
    return texts


def sweeps_and_convergence(model: Any) -> str:
    """How many sweeps a fit made, and whether it converged."""
    sweeps = _number_of_things(len(model.history_), "sweep")
    # Samplers have nothing to converge to.
    if hasattr(model, "samples"):
        return sweeps
    return f"{sweeps}, {'converged' if model.converged_ else 'stopped before it converged'}"


def _number_of_things(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"


# By an attribute that the models of a family alone have.
_READERS = {
    "hmm_": _of_clusters,
    "transmat_": _of_chain,
    "n_subtypes_": _of_treebank,
    "rule_probabilities_": _of_grammar,
    "attachprob_": _of_dependencies,
    "lexicon_": _of_alignment,
    "class_log_prior_": _of_classes,
}
