"""Draws from the posterior of a chain, which intervals and predictions are made of."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.certainty.calibrated import GibbsSample, short_runs
from sklearn_cvb.certainty.chain_diagnostics import to_arviz
from sklearn_cvb.certainty.intervals import ChainPosterior
from sklearn_cvb.chain.parameters.rows import HMMCounts, rare_in, with_rare, word_major
from sklearn_cvb.chain.predictions.prediction import state_transitions
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading.corpus import short_repr


class Draws(NamedTuple):
    """Draws from the posterior of all parameters, and what each was drawn given.

    `predict_proba`, `predict_next` and `score_samples` take them: what they say is then averaged
    over the draws, or drawn from them.

    Attributes
    ----------
    posteriors : tuple of (HMMCounts, prior)
        Counts of drawn states, and the prior: given each of them rows of probabilities are
        Dirichlet, and their mixture is the posterior. Empty where no states were drawn: "mean
        field" draws are of one posterior.
    weights : tuple
        Parameters drawn given each of them; of a mean field, drawn from it.
    layout : object
        Where the cells of counts and weights are.
    """

    posteriors: tuple[tuple[HMMCounts, Any], ...]
    weights: tuple[Any, ...]
    layout: Any
    family: Any = None

    def _chains(self) -> Iterable[Any]:
        return self.weights if self.family is None else (one.chain for one in self.weights)

    @property
    def startprob(self) -> np.ndarray:
        """Drawn start probabilities, (n_draws, n_components)."""
        return np.array([one.start[: self.layout.n_emitting] for one in self._chains()])

    @property
    def transmat(self) -> np.ndarray:
        """Drawn transition probabilities, (n_draws, n_components, n_components).

        With contexts (n_draws, n_contexts, n_components, n_components).
        """
        return np.array([state_transitions(one.transition, self.layout) for one in self._chains()])

    @property
    def emission(self) -> dict[str, Any]:
        """What states emit, by the names of fitted attributes without underscore.

        Symbols have "emissionprob", (n_draws, n_components, n_symbols), 0 where a dictionary rules
        states out.
        """
        if self.family is None:
            tables: list[Any] = [word_major(self.layout, one.emission) for one in self.weights]
            dense = [table.toarray() if hasattr(table, "toarray") else table for table in tables]
            return {"emissionprob": np.array([table.T for table in dense])}
        return _stack_draws([self.family.attributes(one.point) for one in self.weights])

    def to_inference_data(self, log_likelihood: np.ndarray | None = None) -> Any:
        """The draws for ArviZ, which must be installed: group ``posterior``, a single chain.

        Parameters
        ----------
        log_likelihood : ndarray of shape (n_draws, n_observations) or None, default=None
            Of `log_likelihoods` of the model, as group ``log_likelihood``: what ``arviz.loo`` and
            ``arviz.compare`` need.

        Returns
        -------
        arviz.InferenceData
            From ArviZ 1.0 on an ``xarray.DataTree`` with the same group.

        Raises
        ------
        ImportError
            If ArviZ is not installed.
        ValueError
            If `log_likelihood` has another number of draws.
        """
        found = {"startprob": self.startprob, "transmat": self.transmat, **_flatten(self.emission)}
        groups = {"posterior": found}
        if log_likelihood is not None:
            if len(log_likelihood) != len(self.weights):
                raise ValueError(
                    f"log_likelihood has {len(log_likelihood)} rows and there are "
                    f"{len(self.weights)} draws: pass what log_likelihoods(X, draws) returns"
                )
            groups["log_likelihood"] = {"x": log_likelihood}
        return to_arviz(
            {name: {key: table[None] for key, table in own.items()} for name, own in groups.items()}
        )


def _stack_draws(by_draw: list[Any]) -> Any:
    """Tables of all draws, (n_draws, ...), in the dicts and lists that each draw has them in."""
    if isinstance(by_draw[0], dict):
        names = by_draw[0]
        return {
            name.removesuffix("_"): _stack_draws([one[name] for one in by_draw]) for name in names
        }
    if isinstance(by_draw[0], list):
        return [_stack_draws(list(own)) for own in zip(*by_draw, strict=True)]
    return np.array(by_draw)


def _flatten(tables: dict[str, Any]) -> dict[str, np.ndarray]:
    """Tables by one name each: "parts_0_rates" for the rates of the first part."""
    flat: dict[str, np.ndarray] = {}
    for name, value in tables.items():
        if isinstance(value, list):
            value = {str(i): own for i, own in enumerate(value)}
        if isinstance(value, dict):
            flat |= {f"{name}_{inner}": table for inner, table in _flatten(value).items()}
        else:
            flat[name] = value
    return flat


def posterior_of(learned: Learned) -> ChainPosterior:
    """The posterior of a fitted chain; that of numbers is loaded where a model learns them."""
    if learned.extra.numeric is None:
        from sklearn_cvb.certainty.symbols import SymbolPosterior

        return SymbolPosterior(learned)
    from sklearn_cvb.certainty.numbers import NumberPosterior

    return NumberPosterior(learned)


def check_draws(draws: Any, learned: Learned) -> None:
    """Raise unless these are draws, and of a model with the same cells."""
    if not isinstance(draws, Draws):
        raise TypeError(
            f"draws is {short_repr(draws)}: pass the `draws` of what credible_intervals(X) returns"
        )
    own, theirs = learned.layout, draws.layout
    same = own.n_states == theirs.n_states and own.chain.n_tables == theirs.chain.n_tables
    if not same or not np.array_equal(own.indptr, theirs.indptr):
        raise ValueError("draws are of another model: it has other states or symbols")


def draws_of_samples(
    learned: Learned,
    samples: Iterable[tuple[HMMCounts, Any]],
    n_draws: int,
    rng: np.random.Generator,
) -> Draws:
    """Parameters drawn given kept samples of a chain, evenly spaced, at most this many."""
    n_kept, family = learned.extra.samples.n_kept, getattr(learned.extra.numeric, "family", None)
    every = -(-n_kept // n_draws)
    posteriors = tuple(islice(samples, every - 1, None, every))
    posterior = posterior_of(learned)
    weights = tuple(posterior.draw(counts, prior, rng) for counts, prior in posteriors)
    return Draws(posteriors, weights, learned.layout, family)


def draws_of_mean_field(
    learned: Learned,
    posteriors: Iterable[tuple[HMMCounts, Any]],
    n_draws: int,
    rng: np.random.Generator,
) -> Draws:
    """Independent draws of parameters from the one posterior there is."""
    (mean_field,), posterior = posteriors, posterior_of(learned)
    weights = tuple(posterior.draw(*mean_field, rng) for _ in range(n_draws))
    return Draws((), weights, learned.layout, getattr(learned.extra.numeric, "family", None))


def calibrated_draws(
    model: Any,
    learned: Learned,
    n_jobs: int | None,
    generators: list[np.random.Generator],
    verbose: int,
) -> tuple[Draws, bool]:
    """Draws that know of the missing information, and whether anything names the states.

    `model` is that of the training sequences.
    """

    def tell(number: int) -> None:
        if verbose:
            print(f"short run {number + 1} of {len(generators) - 1}")

    posterior = posterior_of(learned)
    structures = posterior.structures(model)
    kept = short_runs(structures, posterior.counts(), learned.prior, generators, n_jobs, tell)
    family = getattr(model.problem, "family", None)
    posteriors = tuple((_with_rare_counts(one, model), learned.prior) for one in kept)
    weights = [one.weights for one in kept]
    if family is not None:
        # Scores are made again from the point.
        weights = [one._replace(scores=None) for one in weights]
    draws = Draws(posteriors, tuple(weights), learned.layout, family)
    return draws, structures.are_named


def _with_rare_counts(kept: GibbsSample, model: Any) -> HMMCounts:
    """Counts where unknown words have those of words seen once, as predictions have it."""
    counts: HMMCounts = kept.counts
    if not getattr(getattr(model, "settings", None), "counts_rare", False):
        return counts
    return with_rare(counts, rare_in(model.problem, counts), model.cells)


def check_training(reading: Reading, learned: Learned) -> None:
    """Raise unless this is what the model has learned from, all of which it explains."""
    cells, before = reading.problem.cells, learned.layout
    corpus = reading.problem.corpus
    counted = float(np.sum(posterior_of(learned).counts().start))
    same = cells.n_states == before.n_states and np.array_equal(cells.indptr, before.indptr)
    same = same and cells.chain.n_tables == before.chain.n_tables
    same = same and np.array_equal(cells.state, before.state)
    if same and learned.words is not None:
        same = list(reading.words.index) == list(learned.words.index)
    if not same or abs(counted - corpus.n_sequences) > 1e-6 * corpus.n_sequences:
        raise ValueError(
            f"X must hold the {counted:.0f} sequences that the model was fitted to, all of which "
            f"it explains; {corpus.n_sequences} sequences with "
            f"{'the same' if same else 'other'} symbols were given"
        )
