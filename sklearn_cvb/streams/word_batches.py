"""Later batches of words are read: new words enter the vocabulary, and get cells."""

from typing import Any

import numpy as np

from sklearn_cvb.chain.paths.lattice import problem_of
from sklearn_cvb.chain.predictions.prediction import running_counts
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Vocabulary, refuse_lengths
from sklearn_cvb.streams.one_batch import StreamCounts
from sklearn_cvb.streams.vocabulary_growth import LayoutGrowth, with_words


def read_word_batch(
    observation: SymbolObservation, learned: Learned, X: Any, y: Any, total_samples: int | None
) -> tuple[Reading, StreamCounts]:
    """A batch whose new words enter the vocabulary and the layout, and the counts so far."""
    known = observation.options.words
    sequences = reading.sequences_again(known, X)
    refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
    vocabulary = learned.words.index
    if known.vocabulary is None:
        types = reading.types_of(sequences.tokens, sequences.starts)
        vocabulary = [*vocabulary, *(word for word in types if word not in vocabulary)]
    words = reading.vocabulary_of(list(vocabulary))
    corpus = reading.encode(sequences, words.index)
    corpus = reading.checked(known, corpus, sequences, len(words.index))
    growth, words, told = _grown(observation, learned, (words, corpus, y), total_samples)
    running, kept, cells = running_counts(learned), learned.fallback, growth.cells
    counts = running._replace(emission=growth.carried(running.emission))
    if kept is not None:
        kept = kept._replace(emission=growth.shares(kept.emission, learned.layout.n_rows))
    lattice, words, messages = observation.training_lattice(
        words, told, cells, corpus, sequences, y
    )
    attributes, problem = observation.attributes_of(words), problem_of(corpus, lattice, cells)
    batch_reading = Reading(problem, words, attributes, messages, observation)
    return batch_reading, StreamCounts(counts, kept)


def _grown(
    observation: SymbolObservation,
    learned: Learned,
    batch: tuple[Vocabulary, Corpus, Any],
    total_samples: int | None,
) -> tuple[LayoutGrowth, Any, Any]:
    """The layout, words and what is told, with the new words of a batch."""
    if not isinstance(learned.words, Vocabulary):
        # Of words with tags more is known.
        from sklearn_cvb.streams.tag_growth import grow_tags

        return grow_tags(observation.options, learned, batch, total_samples)
    cells = learned.layout
    every = np.arange(cells.n_emitting, dtype=np.int32)
    rows = [every] * (len(batch[0].types) - cells.n_words)
    return with_words(cells, rows), batch[0], None
