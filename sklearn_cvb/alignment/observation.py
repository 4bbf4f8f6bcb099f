"""Word alignment's part in a fit, below its estimators: options, reads X and y, makes the model,
and of the result `Learned` and fitted attributes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.alignment.links import NO_SOURCE
from sklearn_cvb.alignment.model import AlignmentModel, AlignmentSample, normalised_links
from sklearn_cvb.alignment.parameters import (
    best_positions_of,
    cooccurring_words,
    counts_from,
    layout_of,
    link_tables,
    pairs_of,
    prior_of,
)
from sklearn_cvb.alignment.reading import (
    SIDES,
    AlignmentProblem,
    corpora_of,
    encode_pairs,
    is_of_pairs,
    known_links,
    read_pairs,
    translations_in,
    words_of,
)
from sklearn_cvb.kernels.alignment import FREE, AlignmentPairs
from sklearn_cvb.learning.gibbs import means_over_samples
from sklearn_cvb.learning.learned import FamilyObservation, FitOutcome, FitResult, Learned, Reading
from sklearn_cvb.messages import warn
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Table, arrange, names_of_columns, object_array
from sklearn_cvb.reading.unknown_tokens import caution_of_unknown
from sklearn_cvb.settings import IBM1

# Jumps so far have probabilities of their own where they are asked for, though sentences be short:
# later ones may be longer. Those that lead out of all sentences tell nothing of the others, and a
# sampler would draw them again and again until one stays.
_FEWEST_JUMPS = 10


class AlignmentOptions(NamedTuple):
    """Parameters of word alignment, checked; to read for a fitted model takes the first alone."""

    handle_unknown: str = "smooth"
    alpha: float = 0.5
    beta: float = 0.001
    p_null: float | tuple[float, float] = 0.2
    longest_jump: int = 10
    dictionary: Any = None
    init: Any = "ibm1"  # or tables of links, or what predicts them for sentences
    supervision: str = "y"
    alternative: str = ""  # what to use where leaving out one giant pair leaves little


@dataclass(frozen=True)
class AlignmentObservation(FamilyObservation):
    """Sentence pairs and their links, under options."""

    options: AlignmentOptions

    def read(self, X: Any, y: Any = None) -> Reading:
        """X and y, to be fitted to."""
        options, sides = self.options, read_pairs(X, y)
        attributes = dict(X.attributes) if isinstance(X, Table) else {}
        if is_of_pairs(X):
            attributes["feature_names_in_"] = np.array(names_of_columns(X), dtype=object)
        translations = translations_in(options.dictionary)
        words = words_of(sides, translations)
        corpora = corpora_of(sides, words, options.handle_unknown)
        source, target = words.source, words.target
        alternative = options.alternative
        messages = reading.caution_of_giant(corpora.target, alternative) if alternative else ()
        known = known_links(y if options.supervision == "y" else None, corpora)
        n_unknown = int(options.handle_unknown != "error")
        sizes = len(source.index) + n_unknown, len(target.index) + n_unknown
        more = {}
        for (word, other), weight in translations.items():
            more[source.index[word] * sizes[1] + target.index[other]] = weight
        encoded, others = encode_pairs(corpora, words), np.array(list(more), np.int64)
        beside = cooccurring_words(encoded, sizes)
        longest = max(_FEWEST_JUMPS, int(np.diff(corpora.source.starts).max()))
        layout = layout_of(beside, sizes, min(options.longest_jump, longest), others)
        prior = prior_of(layout, options.alpha, options.beta, options.p_null, more)
        pairs = pairs_of(encoded, beside, layout, known)
        types = list(source.index), list(target.index)
        problem = AlignmentProblem(corpora.target, types, pairs, layout, prior)
        attributes |= {"source_vocabulary_": source.types, "vocabulary_": target.types}
        return Reading(problem, words, attributes, messages, self)

    def model(self, reading: Reading) -> AlignmentModel:
        """The model of what was read, for algorithms to learn."""
        init = self.options.init
        is_usual = isinstance(init, str) and init == "ibm1"
        return AlignmentModel(reading.problem, IBM1() if is_usual else init)

    def fixed_start(self, reading: Reading) -> str:
        """Why all restarts begin alike; empty where their starts are random."""
        init = self.options.init
        if not isinstance(init, str | IBM1):
            return "init says where to start"
        return "" if init == "random" else f"init={init!r} leaves nothing to chance"

    def outcome(self, result: FitResult) -> FitOutcome:
        """What is learned, and the fitted attributes, from the best restart."""
        best, _, reading, algorithm, model, cells = result
        state, problem, pairs = best.state, reading.problem, reading.problem.pairs
        link = model.links(state)
        if len(state.unexplained):
            link = normalised_links(link, pairs)
        counts, positions = counts_from(cells, problem.layout), best_positions_of(link, pairs)
        tables, is_table = link_tables(link.astype(np.float32), pairs), bool(problem.corpus.width)
        attributes = {
            "counts_": counts,
            "labels_": arrange(problem.corpus, positions, NO_SOURCE),
            "link_proba_": np.stack(tables) if is_table else object_array(tables),
            "alpha_": self.options.alpha,
            "beta_": self.options.beta,
        }
        is_sampled = isinstance(state.shares, AlignmentSample)
        learned = Learned(
            words=reading.words,
            layout=problem.layout,
            prior=problem.prior,
            counts=counts,
            averages=algorithm.averages,
            extra=means_over_samples(state, model)[0] if is_sampled else None,
        )
        return FitOutcome(learned, attributes)

    def encoded(
        self, learned: Learned, X: Any, *, free: bool = True
    ) -> tuple[Corpus, AlignmentPairs]:
        """Target sentences, and pairs as kernels read them, in words of a fit.

        With `free` unknown target words that have no probability may come from any word alike.
        """
        sides, words, layout = read_pairs(X), learned.words, learned.layout
        corpora = corpora_of(sides, words, self.options.handle_unknown)
        messages = [
            message
            for name, corpus, known_words in zip(SIDES, corpora, words, strict=True)
            for message in caution_of_unknown(
                reading.unknown_in(corpus, known_words.index), known_words.index, f"{name} words"
            )
        ]
        # What is wrong with one side usually is with the other.
        warn(messages[:1])
        encoded = encode_pairs(corpora, words)
        pairs = pairs_of(encoded, cooccurring_words(encoded, layout[:2]), layout)
        if free and not learned.prior.unlisted[:-2].any():
            unknown = encoded.target == len(words.target.index)
            parts = np.split(unknown, encoded.target_starts[1:-1])
            for table, rows in zip(link_tables(pairs.cell, pairs), parts, strict=True):
                table[rows] = FREE
        return corpora.target, pairs
