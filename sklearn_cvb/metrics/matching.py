"""Matching the states of two fits, or of a fit and gold tags, and giving states other names."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import ChainPrior
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.chain.predictions.traces import ChainSamples, PathCounts
from sklearn_cvb.chain.tags.knowledge import LegalStates, TagKnowledge, attributes_of
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.metrics.tagging import matched_pairs, tag_confusion
from sklearn_cvb.reading.corpus import as_array
from sklearn_cvb.reading.dictionary import Coverage, is_weighted, tags_of
from sklearn_cvb.reading.validation import check_choice


def match_states(y_true: Sequence[Any], y_pred: Sequence[Any]) -> dict[Any, Any]:
    """Pair each predicted label with a true one so that most tokens agree, one to one.

    Two fits are matched by what they say about the same sequences, a fit and gold tags likewise.

    Parameters
    ----------
    y_true : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        True labels, or states of another fit. Tokens whose label is None or NaN are left out.
    y_pred : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        Predicted labels or states.

    Returns
    -------
    dict
        The true label of each predicted one. Labels beyond the number of the other side, and those
        that do not occur, are missing.

    Raises
    ------
    ValueError
        If the numbers of sequences or the lengths of a sequence differ, or no label is known.
    TypeError
        If a sequence is a string or a scalar.

    See Also
    --------
    one_to_one_accuracy : The share of tokens that agree.
    relabel : A model whose states bear the names found here.

    References
    ----------
    Kuhn (1955), "The Hungarian method for the assignment problem", Naval Research Logistics
    Quarterly 2.

    Examples
    --------
    >>> from sklearn_cvb.metrics import match_states
    >>> match_states([["DT", "NN", "NN", "NN"]], [[1, 0, 2, 0]])
    {1: 'DT', 0: 'NN'}
    """
    counts, true_labels, predicted_labels = tag_confusion(y_true, y_pred)
    return {predicted_labels[j]: true_labels[i] for i, j in matched_pairs(counts)}


def relabel(
    model: Any,
    names: Mapping[Any, Any] | Sequence[Any] | None = None,
    *,
    by: str | None = None,
    column: int = 0,
) -> Any:
    """A copy of a fitted model whose states are numbered otherwise, or bear names.

    Parameters
    ----------
    model : fitted hidden Markov model or tagger
    names : dict or sequence, or None, default=None
        The new number or name of each state (of each tag, for a tagger), by its old one; a
        sequence lists them in the order of the states. New numbers 0..n_components-1 renumber a
        model: states missing from a dict take the free numbers in ascending order. Other values
        are names, and make the model a tagger without a dictionary, or rename a tagger's tags;
        states missing from a dict keep their number (tag) as name. None with `by`.
    by : {"means", "variances", "durations"} or None, default=None
        Number states in ascending order of what they emit, where that are numbers, or of how long
        their visits last: so that refits, and other seeds, have the same names.
    column : int, default=0
        Which column's means or variances.

    Returns
    -------
    model
        Scores are those of `model`, states and tags the new ones. A later `fit` starts afresh and
        knows nothing of them; with `warm_start` it does not go on from the old fit.

    Raises
    ------
    ValueError
        If two states get one name, a name is given to an unknown state, or a sequence has another
        length than there are states; if both or none of `names` and `by` are given, or states emit
        nothing that has means.
    TypeError
        If states would get names and the observations of the model are numbers: there are no
        taggers of these.

    See Also
    --------
    match_states : Finds names by comparing with other labels.

    Examples
    --------
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.metrics import match_states, relabel
    >>> X = [["the", "cat", "the", "dog"], ["a", "dog"], ["the", "dog", "a", "cat"]]
    >>> model = VBHMM(n_init=5, random_state=0).fit(X)
    >>> names = match_states([["D", "N", "D", "N"], None, None], model.labels_)
    >>> relabel(model, names).predict([["a", "cat"]])[0]
    array(['D', 'N'], dtype=object)

    Regimes from calm to wild:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> returns = [rng.normal(0, np.repeat([1.0, 4.0, 1.0, 4.0], 60))]
    >>> model = VBHMM(2, emission="gaussian", random_state=0).fit(returns)
    >>> relabel(model, by="variances").covariances_.ravel().round().tolist()
    [1.0, 18.0]
    """
    learned = learned_of(model)
    if (names is None) == (by is None):
        raise ValueError("give either names or by, such as by='means'")
    if by is not None:
        check_choice("by", by, ("means", "variances", "durations"))
        # Equal ones stay in their order.
        order = np.argsort(_values_of_states(model, by, column), kind="stable")
        return _with_order(model, np.argsort(order).tolist())
    assert names is not None, "one of both is given"
    if isinstance(learned.words, TagKnowledge):
        tags = model.classes_.tolist()
        new = dict(zip(tags, _all_names(names, tags, fill=False), strict=True))
        return _with_knowledge(
            _copy_with_labels(model, new),
            _knowledge_with_names(learned.words, new),
            learned.attribute_names,
        )
    states = list(range(learned.layout.n_emitting))
    given = names.values() if isinstance(names, dict) else names
    if set(given) <= set(states):
        return _with_order(model, _all_names(names, states, fill=True))
    if not model._emits_symbols:
        raise TypeError(
            f"{type(model).__name__} has learned from numbers, and there are no taggers of these: "
            f"its states can be renumbered, as by {states[::-1]}, but not named; give names to "
            "what it predicts, such as np.array(names)[states]"
        )
    return _with_tag_names(model, _all_names(names, states, fill=False))


def _values_of_states(model: Any, by: str, column: int) -> np.ndarray:
    """What the states of a model are sorted by, (n_components,)."""
    learned = learned_of(model)
    numeric = None if learned.extra is None else learned.extra.numeric
    if isinstance(learned.words, TagKnowledge):
        raise ValueError("by is for states that are numbers, and those of taggers have names")
    if by != "durations":
        if numeric is None:
            raise ValueError(f"by={by!r} is for models of numbers: symbols have none")
        table = numeric.family.moments(numeric.point)[by == "variances"]
        if not 0 <= column < table.shape[1]:
            raise ValueError(f"column={column} is none of the {table.shape[1]} columns")
        values: np.ndarray = table[:, column]
        return values
    if hasattr(model, "durations_"):
        lengths: np.ndarray = model.durations_ @ np.arange(1, model.durations_.shape[1] + 1)
        return lengths
    moves = model.transmat_
    stays = np.diagonal(moves, axis1=-2, axis2=-1)
    return stays if moves.ndim == 2 else stays.mean(axis=0)


def _all_names(names: Mapping[Any, Any] | Sequence[Any], old: list[Any], fill: bool) -> list[Any]:
    """The new name of every old state, in the order of the states."""
    if not isinstance(names, dict):
        if len(names) != len(old):
            raise ValueError(f"{len(names)} names for {len(old)} states")
        names = dict(zip(old, names, strict=True))
    strangers = [state for state in names if state not in old]
    if strangers:
        raise ValueError(f"names for {strangers}, but the states are {old}")
    free = iter([state for state in old if state not in names.values()] if fill else ())
    new = [names[state] if state in names else next(free, state) for state in old]
    if len(set(new)) < len(old):
        raise ValueError(f"two states get one name: {new}")
    return new


class _StateOrder(NamedTuple):
    """Tables whose state k is state ``order[k]`` of those given."""

    order: np.ndarray

    def rows(self, totals: np.ndarray) -> np.ndarray:
        """Indices of rows; the end of a sequence, where it is a state, stays the last one."""
        return np.append(self.order, np.arange(len(self.order), len(totals)))

    def cells(self, cells: np.ndarray) -> np.ndarray:
        """Cells of words and states, or statistics of numbers and states."""
        return np.take(cells.reshape(-1, len(self.order)), self.order, axis=1).reshape(cells.shape)

    def chain(self, start: np.ndarray, transition: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Start and transitions, also where each context has a table of these."""
        rows = self.rows(start)
        tables = transition.reshape(-1, len(rows), len(rows))
        return start[rows], tables[:, rows[:, None], rows].reshape(transition.shape)

    def tables(self, tables: Any) -> Any:
        """Counts or weights."""
        chain = self.chain(tables.start, tables.transition)
        return type(tables)(*chain, self.cells(tables.emission))

    def layout(self, cells: Cells) -> Cells:
        """A layout, of which only the topology tells states apart."""
        topology = cells.chain.topology
        if topology is None:
            return cells
        start, transition = self.chain(topology.start, topology.transition)
        topology = topology._replace(start=start, transition=transition)
        return cells._replace(chain=cells.chain._replace(topology=topology))

    def prior(self, prior: ChainPrior) -> ChainPrior:
        """Priors and their totals."""
        known = prior.concentrations
        if known is not None and known.user_prior is not None:
            known = known._replace(user_prior=self.prior(known.user_prior))
        rows = self.rows(prior.start)
        start, transition = self.chain(prior.start, prior.transition)
        return prior._replace(
            start=start,
            transition=transition,
            transition_total=prior.transition_total.reshape(-1, len(rows))[:, rows].ravel(),
            emission=self.cells(prior.emission),
            emission_total=prior.emission_total[rows],
            concentrations=known,
        )


def _with_order(model: Any, new: list[Any]) -> Any:
    """A copy whose state new[k] is state k of before."""
    by, learned = _StateOrder(np.argsort(new)), model._learned
    changed = _copy_with_labels(model, dict(enumerate(new)))
    tables, attributes = model._observation().reorder_states(learned, by)
    layout, extra = by.layout(learned.layout), tables.pop("extra", learned.extra)
    extra = extra._replace(
        end=None if extra.end is None else extra.end[by.order],
        samples=None if extra.samples is None else _renumbered_chains(extra.samples, by, new),
    )
    changed._learned = changed._learned._replace(
        **tables,
        layout=layout,
        prior=by.prior(learned.prior),
        fallback=None if learned.fallback is None else by.tables(learned.fallback),
        extra=extra,
        zero_cells=None if learned.zero_cells is None else by.tables(learned.zero_cells),
    )
    vars(changed).update(attributes, counts_=changed._learned.counts, end_counts_=extra.end)
    if hasattr(model, "state_weights_"):
        changed.state_weights_ = model.state_weights_[by.rows(model.state_weights_)]
    if hasattr(model, "pooled_transmat_"):
        changed.pooled_transmat_ = model.pooled_transmat_[by.order][:, by.order]
    return changed


def _renumbered_chains(sampled: ChainSamples, by: _StateOrder, new: list[Any]) -> ChainSamples:
    """A sampler's kept samples, under the new numbers of states."""
    paths, each = sampled.paths, sampled.per_sample
    if isinstance(each, PathCounts):
        cells, weights = by.layout(each.problem.cells), each.state_weights
        each = each._replace(
            problem=each.problem._replace(cells=cells),
            last=by.prior(each.last),
            state_weights=tuple(one and tuple(np.array(one)[by.order].tolist()) for one in weights),
        )
    elif each:
        # Statistics of a chain of numbers have states on their last axis, as cells have.
        each = tuple((by.tables(counts), by.prior(prior)) for counts, prior in each)
    return sampled._replace(
        paths=None if paths is None else np.asarray(new, dtype=paths.dtype)[paths],
        mean_weights=by.tables(sampled.mean_weights),
        per_sample=each,
    )


def _with_tag_names(model: Any, names: list[Any]) -> Any:
    """A tagger with what the model has learned."""
    import sklearn_cvb

    taggers = (getattr(sklearn_cvb, f"{base.__name__}Tagger", None) for base in type(model).__mro__)
    kind = next(filter(None, taggers))
    settings = model.get_params(deep=False)
    # A tagger has not all parameters of a model without tags.
    tagger = kind(**{name: settings[name] for name in settings if name in kind._get_param_names()})
    copied = _copy_with_labels(model, dict(enumerate(names)))
    # There is no dictionary that could cover anything.
    n, vocabulary = len(names), copied._learned.words
    legal = LegalStates({}, dict(zip(names, range(n), strict=True)), np.arange(n, dtype=np.int32))
    nothing, labelled = Coverage(0.0, 0.0), np.empty(0, dtype=np.int32)
    classes = as_array(names)
    knowledge = TagKnowledge(
        vocabulary, classes, legal, None, {}, nothing, labelled, is_clean=False, has_labels=False
    )
    names_set = copied._learned.attribute_names | (attributes_of(knowledge).keys() - {"coverage_"})
    vars(tagger).update(vars(copied))
    return _with_knowledge(tagger, knowledge, names_set)


def _with_knowledge(tagger: Any, knowledge: TagKnowledge, names: frozenset[str]) -> Any:
    """A tagger that is given what it knows, and those of the attributes that tell of it."""
    learned = tagger._learned._replace(words=knowledge, attribute_names=names)
    told = attributes_of(knowledge)
    vars(tagger).update({name: told[name] for name in told if name in names}, _learned=learned)
    return tagger


def _knowledge_with_names(knowledge: TagKnowledge, new: Mapping[Any, Any]) -> TagKnowledge:
    """A tagger's knowledge with other names of tags."""
    legal = knowledge.legal
    entries = {
        word: {new[tag]: seen for tag, seen in entry.items()}
        if is_weighted(entry)
        else tuple(new[tag] for tag in tags_of(entry))
        for word, entry in legal.tag_dictionary.items()
    }
    states = {new[tag]: state for tag, state in legal.states.items()}
    return knowledge._replace(
        classes=as_array([new[tag] for tag in knowledge.classes.tolist()]),
        legal=legal._replace(tag_dictionary=entries, states=states),
        dropped={word: tuple(new[t] for t in tags) for word, tags in knowledge.dropped.items()},
    )


def _copy_with_labels(model: Any, new: dict[Any, Any]) -> Any:
    """A copy with other `labels_` that no fit goes on from."""
    changed = copy.copy(model)
    changed._learned = model._learned._replace(warm_start=None)
    # Padding stays.
    padding = -1 if as_array(list(new.values())).dtype.kind in "iu" else None
    lookup = {-1: padding, None: None} | new

    def renamed(array: np.ndarray) -> np.ndarray:
        return as_array([lookup[label] for label in array.ravel().tolist()]).reshape(array.shape)

    if model.labels_.ndim > 1:
        changed.labels_ = renamed(model.labels_)
    else:
        changed.labels_ = np.empty(len(model.labels_), dtype=object)
        changed.labels_[:] = [renamed(array) for array in model.labels_]
    return changed
