"""What hidden Markov models of symbols do; `chain.numbers.observed` has those of numbers.

`BaseHMM` asks one of the two, as its parameter `emission` says; both have the same functions.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import (
    HMMCounts,
    Prior,
    log_weights,
    posterior_mean,
    prior_settings,
    public_counts,
    rare_in,
    shared_weights,
    weights_under,
)
from sklearn_cvb.chain.parameters.user_tables import with_given
from sklearn_cvb.chain.paths.lattice import (
    Cells,
    Problem,
    cells_for,
    cells_with_end,
    dense_posterior,
    lattice_for,
    problem_of,
    restrict,
    topology_of,
    without_impossible,
)
from sklearn_cvb.chain.predictions import prediction
from sklearn_cvb.chain.starts.starting_points import SEGMENTS
from sklearn_cvb.chain.starts.state_merging import MERGED, pays
from sklearn_cvb.chain.symbols.leave_out import HALF_OF_ALL, WHOLE, LeftOut
from sklearn_cvb.chain.symbols.model import ChainSettings, SymbolChain, TokenChain
from sklearn_cvb.kernels.chain.decoding import best_states, viterbi
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.learning.learned import FitResult, Learned, Reading
from sklearn_cvb.learning.threads import even_pieces, on_threads, threads_for_each
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters, Windows, asked_of, known_words, window_for

# A sequence of so many tokens that holds most of all is left out in windows.
_LONG = 100

# Corpora may come in shards, stores and batches, and states may be named by tags.
has_vocabulary = True
# What samplers draw at a time.
default_update = "token"
# What draws several continuations, where `sample` is asked to.
draws_ahead = ""
# Fewer tokens than this are not worth a thread.
_SHORTEST_PIECE = 5000


# Reading


class WordsRead(NamedTuple):
    """What words tell of a model."""

    words: Any  # Vocabulary or TagKnowledge
    cells: Cells
    told: Any = None  # what is known of the tokens of this corpus alone
    messages: tuple[str, ...] = ()


def read_to_fit(hmm: Any, X: Any, y: Any, streams: bool) -> Reading:
    """X and y, to be fitted to."""
    sequences, attributes, messages = reading.sequences_to_fit(hmm, X, y)
    types = reading.types_to_learn(hmm, sequences)
    vocabulary, corpus = reading.encoded_by(hmm, types, sequences)
    words, cells, told, of_words = words_and_cells(hmm, vocabulary, corpus, y, streams=streams)
    attributes = {**attributes, **hmm._attributes_of_words(words)}
    lattice, words, of_labels = hmm._training_lattice(words, told, cells, corpus, sequences, y)
    problem = problem_of(corpus, lattice, cells)
    messages = (*messages, *of_words, *of_labels)
    # Of a first batch it is said where that is no more than one step.
    said = () if streams else caution_of_giant(left_out_by(hmm, *problem.longest), problem)
    return Reading(problem, words, attributes, (*messages, *said))


def caution_of_giant(left_out: LeftOut | None, problem: Problem) -> tuple[str, ...]:
    """What to say where leaving out one sequence leaves little."""
    longest, n_tokens = problem.longest
    if 2 * longest <= n_tokens or left_out != WHOLE:
        return ()
    return (HALF_OF_ALL.format(int(np.diff(problem.corpus.starts).argmax())),)


def words_and_cells(
    hmm: Any, vocabulary: Vocabulary, corpus: Corpus, y: Any, *, streams: bool = False
) -> WordsRead:
    """What words tell, and the whole layout of parameters, with topology and ends."""
    read: WordsRead = hmm._words_read(vocabulary, corpus, y, streams)
    transitions = asked_of(hmm).transitions
    topology = topology_of(transitions.topology, read.cells.n_states)
    if topology is not None and not topology.tied:
        refuse_token_updates(hmm)
    is_stationary = transitions.start == "stationary"
    cells = read.cells._replace(topology=topology, is_stationary=is_stationary)
    return read._replace(cells=cells_with_end(cells) if transitions.end_state else cells)


def refuse_token_updates(hmm: Any) -> None:
    """Raise where a token moves at a time, which cannot keep to a topology."""
    left_out, update = left_out_by(hmm), "sequence"
    if left_out is not None:
        update = left_out.update
    elif hasattr(hmm, "samples"):
        update = hmm._observed.default_update if hmm.update is None else hmm.update
    if update == "token":
        raise InvalidParameterError(hmm._why_all_steps)


def words_read(
    hmm: Any, vocabulary: Vocabulary, corpus: Corpus, y: Any, streams: bool
) -> WordsRead:
    """What words tell: that any state may emit them."""
    with_unknown, n_words = known_words(hmm)[1] != "error", len(vocabulary.types)
    return WordsRead(vocabulary, cells_for(None, hmm.n_components, n_words, with_unknown))


def attributes_of_words(hmm: Any, words: Any) -> dict[str, Any]:
    """The fitted attributes that tell them."""
    return {"vocabulary_": words.types}


def training_lattice(
    hmm: Any, words: Any, told: Any, cells: Cells, corpus: Corpus, sequences: Sequences, y: Any
) -> tuple[Lattice, Any, tuple[str, ...]]:
    """Allowed states of each token, the words with what `y` tells, and messages."""
    lattice = lattice_for(corpus, cells)
    if y is None or hmm.supervision != "y":
        return lattice, words, ()
    from sklearn_cvb.chain.paths.known_states import known_states

    return restrict(lattice, known_states(y, corpus, hmm.n_components))[0], words, ()


# How a chain begins


def model(hmm: Any, read: Reading) -> SymbolChain:
    """What is learned from a problem."""
    settings: ChainSettings = hmm._chain_settings(read)
    kind = TokenChain if settings.left_out.update == "token" else SymbolChain
    return getattr(read.problem, "chain", kind)(read.problem, settings)


def chain_settings(hmm: Any, read: Reading) -> ChainSettings:
    """How a chain begins, and what is inferred at a time: all that parameters say of it."""
    asked, weight = asked_of(hmm), None
    if asked.dictionary is not None:
        # One concentration for all emissions can be learned only where all are equal.
        is_equal = getattr(read.words, "is_clean", False) and asked.beta_prior is not None
        weight = 0.0 if is_equal else asked.dictionary.weight
    left_out = left_out_by(hmm, *read.problem.longest)
    resampled, coldest = "token", None
    if hasattr(hmm, "samples"):
        resampled = default_update if hmm.update is None else hmm.update
        temperatures = hmm._kept().temperatures
        coldest = None if temperatures is None else min(temperatures)
    n_restarts = 1 if hmm._fixed_start(read) else asked.n_restarts
    init = usual_start(hmm, read) if hmm.init is None else hmm.init
    if hmm.init is None and init == "parameter" and left_out and left_out.update == "token":
        init = "word"
    if isinstance(init, str) and init == "kmeans":
        raise InvalidParameterError(
            f"The 'init' parameter of {type(hmm).__name__} must be a str among 'context', "
            "'parameter', 'token', 'unambiguous' and 'word': 'kmeans' is for numbers "
            "(see `emission`)"
        )
    return ChainSettings(
        with_given(prior_settings(hmm, asked, weight), hmm, read.problem.cells, read.words.types),
        init,
        read.words.types,
        left_out or WHOLE,
        resampled,
        coldest,
        counts_rare=asked.handle_unknown in ("rare", "form"),
        n_threads=threads_for_each(n_restarts, hmm.n_jobs),
    )


def left_out_by(hmm: Any, longest: int = 0, n_tokens: int = 0) -> LeftOut | None:
    """What is left out at a time, given the longest sequence; None where nothing is left out."""
    if "update" not in hmm._settings:
        return None
    if isinstance(hmm.update, Windows):
        return LeftOut("sequence", Windows.of(hmm.update).length)
    if hmm.update is None:
        window = window_for(longest, n_tokens) if longest >= _LONG else None
        return LeftOut("sequence", window)
    return LeftOut(hmm.update, None)


def usual_start(hmm: Any, read: Reading) -> str:
    """Where to start if `init` does not say; token updates take "word" for "parameter"."""
    words, problem = read.words, read.problem
    cells = problem.cells
    chooses = asked_of(hmm).transitions.shared is not None and not problem.any_told
    # States may be joined before a fit that chooses their number, where it pays.
    if chooses and pays(problem.n_learned, cells.n_emitting, cells.n_rows):
        return MERGED
    if getattr(words, "is_clean", False) and cells.topology is None:
        return hmm._starts_when_clean[words.is_told]
    if cells.is_full and cells.topology is not None and cells.topology.is_ordered:
        return SEGMENTS
    return "parameter" if cells.is_full and not problem.any_told else "token"


def fixed_start(hmm: Any, read: Reading) -> str:
    """What fixes where all restarts begin; empty where it is random."""
    if isinstance(hmm.init, str):
        is_fixed = hmm.init in ("unambiguous", "context")
        return f"init={hmm.init!r} is always the same" if is_fixed else ""
    if isinstance(hmm.init, HMMParameters) and not hmm.init.is_whole:
        return ""
    return "" if hmm.init is None else "init says where to start"


# What a fit leaves


def left_of(
    state: Any, counts: HMMCounts, chain: SymbolChain
) -> tuple[dict[str, Any], Weights | None, np.ndarray | None, None]:
    """Public counts and beta, weights that rows keep, what unknown words get beside; no numbers."""
    attributes = {"counts_": public_counts(counts, chain.cells), "beta_": state.hyper.beta}
    rare = rare_in(chain.problem, counts) if chain.settings.counts_rare else None
    return attributes, state.weights, rare, None


def left_paths(hmm: Any, result: FitResult) -> dict[str, Any]:
    """The states of the training tokens, and what follows from them."""
    state, read = result.best.state, result.read
    found = path(result.model, state, hmm.n_jobs, averages=result.algorithm.averages)
    labels = hmm._arranged_states(read.words, read.problem.given, found)
    return {"labels_": labels, **shared_weights(state.hyper, np.bincount(found, minlength=1))}


def path(chain: SymbolChain, state: Any, n_jobs: int | None, *, averages: bool) -> np.ndarray:
    """States of all given tokens, also of sequences left out."""
    problem = chain.problem
    table = _of_left_out(averages, state, problem)
    rest = None if table is None else table.argmax(axis=1)
    posterior = chain.posterior(state)
    found = np.empty(len(problem.corpus.tokens), np.int32)
    if posterior is not None:
        best_states(problem.lattice, posterior, 0, len(found), found)
        return problem.among_given(found, rest)
    _, logs = _final_weights(averages, state, problem.cells)
    starts, log_p = problem.corpus.starts, np.empty(problem.corpus.n_sequences)

    def label(begin: int, end: int) -> None:
        viterbi(logs, problem.lattice, starts[begin : end + 1], found, log_p[begin:end])

    on_threads(label, even_pieces(starts, _SHORTEST_PIECE), n_jobs)
    return problem.among_given(found, rest)


def posteriors(hmm: Any, state: Any, read: Reading) -> np.ndarray:
    """Posteriors of all given tokens: the last ones, or under the final weights."""
    problem, averages = read.problem, hmm._algorithm().averages
    entries, lattice = model(hmm, read).posterior(state), problem.lattice
    if entries is None:
        weights = _final_weights(averages, state, problem.cells)
        entries, _ = prediction.smoothed_entries(*weights, lattice, problem.corpus.starts)
    table = dense_posterior(lattice, entries, problem.cells.n_states)
    table = problem.among_given(table, _of_left_out(averages, state, problem))
    return table[:, : problem.cells.n_emitting]


def _final_weights(averages: bool, state: Any, cells: Cells) -> tuple[Weights, Weights]:
    """Weights of the final counts, and their logs."""
    return weights_under(state.counts, state.prior, cells, state.weights, averages=averages)


def _of_left_out(averages: bool, state: Any, problem: Problem) -> np.ndarray | None:
    """Posteriors of the sequences left out: the most probable legal state by emission."""
    rest = problem.left_out
    if rest is None:
        return None
    weights = _final_weights(averages, state, rest.cells)
    entries, _ = prediction.smoothed_entries(*weights, rest.lattice, rest.corpus.starts)
    return dense_posterior(rest.lattice, entries, rest.cells.n_states)


# Reading a fitted model


def lattice_of(hmm: Any, learned: Learned, corpus: Corpus) -> Lattice:
    """Allowed states of a new corpus."""
    return lattice_for(corpus, learned.layout)


def with_unknown(
    hmm: Any, learned: Learned, corpus: Corpus, weights: Weights, logs: Weights
) -> tuple[Lattice, Weights, Weights]:
    """Weights with what else is known of unknown words, and the lattice that reads them."""
    return hmm._lattice_of(learned, corpus), weights, logs


def arranged_states(hmm: Any, words: Any, corpus: Corpus, path: np.ndarray) -> np.ndarray:
    """States in the shape of the input."""
    return reading.arrange(corpus, path.astype(np.int64), -1)


def read_again(hmm: Any, learned: Learned, X: Any, means: bool = False) -> prediction.Read:
    """Sequences under a model's weights."""
    chain = prediction.mean_and_log if means else prediction.predicting_weights
    return read_under(hmm, learned, X, chain(learned))


def read_under(
    hmm: Any, learned: Learned, X: Any, chain: tuple[Weights, Weights]
) -> prediction.Read:
    """Sequences under weights and their logs; unknown words nobody emits are unobserved."""
    words = learned.words
    corpus = reading.encoded_again(hmm, words.index, X, words.listed)
    lattice, weights, logs = hmm._with_unknown(learned, corpus, *chain)
    lattice = without_impossible(lattice, corpus, learned.layout, weights.emission)
    return prediction.Read(corpus, lattice, weights, logs, learned.layout)


def to_fit_again(hmm: Any, learned: Learned, X: Any) -> Any:
    """The training sequences once more, as `read_to_fit` takes them."""
    reading.refuse_other_columns(hmm, X)
    return X


def steps_after(hmm: Any, learned: Learned, before: Any, observation: Any) -> list[Any]:
    """A single observation as X."""
    return [[observation]]


def reads_under(
    hmm: Any, learned: Learned, X: Any, samples: Iterable[tuple[HMMCounts, Prior]] | None
) -> tuple[Iterable[prediction.Read], np.ndarray]:
    """Under the mean weights, or those of each sample; and how many tokens were observed."""
    cells = learned.layout
    if samples is None:
        return reads_at(hmm, learned, X, [prediction.mean_weights(learned)])
    means = (posterior_mean(counts, prior, cells) for counts, prior in samples)
    return reads_at(hmm, learned, X, means)


def reads_at(
    hmm: Any, learned: Learned, X: Any, weights: Iterable[Weights]
) -> tuple[Iterable[prediction.Read], np.ndarray]:
    """Sequences under each of some weights; and how many tokens were observed."""
    words = learned.words
    corpus = reading.encoded_again(hmm, words.index, X, words.listed)
    lattice, cells = hmm._lattice_of(learned, corpus), learned.layout
    found = (prediction.Read(corpus, lattice, own, log_weights(own), cells) for own in weights)
    return found, corpus.observed_lengths


def drawn(
    learned: Learned,
    states: np.ndarray,
    starts: np.ndarray,
    rng: np.random.RandomState,
    contexts: None,
) -> tuple[np.ndarray, Any]:
    """What each state emits, and what stands for nothing: None, also for no known symbol."""
    vocabulary = learned.words.types
    emission = np.cumsum(prediction.emission_table(learned)[:, : len(vocabulary)], axis=1)
    symbols = np.full(len(states), -1, np.int32)
    for state in np.intersect1d(states, np.flatnonzero(emission.sum(axis=1))):
        here, row = states == state, emission[state]
        levels = rng.random_sample(np.count_nonzero(here)) * row[-1]
        # A product with a tiny total may round up to it.
        last = np.searchsorted(row, row[-1])
        symbols[here] = np.minimum(np.searchsorted(row, levels, side="right"), last)
    known = symbols >= 0
    if known.all():
        return vocabulary[symbols], None
    words = np.full(len(symbols), None, dtype=object)
    words[known] = vocabulary[symbols[known]]
    return words, None


def reordered(learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is learned of emissions, and attributes that tell it, if states had another order."""
    rare = None if learned.rare is None else learned.rare[by.order]
    return {"counts": by.tables(learned.counts), "rare": rare}, {}
