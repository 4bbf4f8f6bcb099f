"""The rows of the table: two sides each, what their ratio must reach, and where it is going."""

import numpy as np

from benchmarks import (
    alignment,
    bulk,
    cold,
    dependencies,
    independent,
    memory,
    numbers,
    peers,
    threads,
    trees,
)
from benchmarks.measurement import Measurement, Row
from benchmarks.models import N_STATES, Annealing, dense_sweep, tagger_sweep
from benchmarks.text import read
from benchmarks.timing import interleaved

# Peers that want sequences of one length get these.
_TABLE_SHAPE = (200, 25)
_TABLE_SYMBOLS = 1000
_PARTIAL_COUNT, _PARTIAL_SENTENCES = 5, 1000


def sweeps_against(ours, peer, settings, faster, note="", peer_tokens=None):
    """Compare processor time per token and sweep.

    `faster`: whether the ratio says how many times faster we are; else how many times the peer's
    time. `peer_tokens`: tokens of a call of `peer`; None for those of `ours`.
    """
    pairs = interleaved(ours, peer, settings.pairs, 0.02 if settings.quick else 0.2)
    left = [1e9 * a.cpu / ours.n_tokens for a, _ in pairs]
    right = [1e9 * b.cpu / (peer_tokens or ours.n_tokens) for _, b in pairs]
    ratios = [b / a if faster else a / b for a, b in zip(left, right, strict=True)]
    tags = ours.tags_per_token
    notes = [note, f"{tags:.1f} tags per token" if tags < N_STATES else ""]
    return Measurement(left, right, ratios, "ns per token", "; ".join(filter(None, notes)))


def _hmmlearn(sweep):
    corpus, cells = sweep.problem.corpus, sweep.problem.cells
    return peers.hmmlearn_iteration(corpus.tokens, np.diff(corpus.starts), N_STATES, cells.n_words)


def em_dense(settings):
    """EM without a dictionary against hmmlearn."""
    ours = dense_sweep("EM", read(settings, "journal").X)
    return sweeps_against(ours, _hmmlearn(ours), settings, True)


def em_dictionary(settings, min_count=1):
    """EM with a dictionary against hmmlearn, which has none and so looks at all states."""
    text = read(settings, "journal")
    ours, all_states = tagger_sweep("EM", text, min_count), dense_sweep("EM", text.X)
    note = f"hmmlearn has no dictionary: all {N_STATES} states"
    return sweeps_against(ours, _hmmlearn(all_states), settings, True, note)


def em_open_dictionary(settings):
    """The same with words seen once left out of the dictionary: a harder case than a whole one."""
    return em_dictionary(settings, min_count=2)


def em_arithmetic(settings):
    """EM's arithmetic a second, of what a large float64 matrix product gets."""
    size, block = (256, 512) if settings.quick else (1024, 4096)
    ours = dense_sweep("EM", read(settings, "journal").X)
    product, n_operations = peers.matrix_product(size, size, size)
    narrow, n_narrow = peers.matrix_product(block, N_STATES, N_STATES)
    shortest = 0.02 if settings.quick else 0.2
    pairs = interleaved(ours, product, settings.pairs, shortest)
    beside = interleaved(narrow, product, 3, shortest)
    work = 6 * N_STATES**2 * ours.n_tokens
    left = [work / a.cpu / 1e9 for a, _ in pairs]
    right = [n_operations / b.cpu / 1e9 for _, b in pairs]
    ratios = [100 * a / b for a, b in zip(left, right, strict=True)]
    shaped = np.median([n_narrow / a.cpu / 1e9 for a, _ in beside])
    note = f"6 K² operations per token; a product with {N_STATES} columns gets {shaped:.0f} Gflop/s"
    return Measurement(left, right, ratios, "Gflop/s", note)


def against_em(algorithm, dense):
    """A row that compares a sweep with EM's on the same data."""

    def measure(settings):
        text = read(settings, "journal")
        sides = [
            dense_sweep(name, text.X) if dense else tagger_sweep(name, text)
            for name in (algorithm, "EM")
        ]
        note = "mean over the sweeps of an annealing" if isinstance(sides[0], Annealing) else ""
        return sweeps_against(*sides, settings, False, note, sides[1].n_tokens)

    return measure


def cvb_partial(settings):
    """CVB with a partial dictionary against EM with all states open."""
    text = read(settings, "journal")
    ours = tagger_sweep("CVB sequence", text, _PARTIAL_COUNT, _PARTIAL_SENTENCES)
    peer = dense_sweep("EM", text.X[:_PARTIAL_SENTENCES])
    note = f"words seen {_PARTIAL_COUNT} times in {len(text.X[:_PARTIAL_SENTENCES]):,} sentences"
    return sweeps_against(ours, peer, settings, False, note)


def other_library(iteration, note):
    """A row that compares EM with a library that wants sequences of one length."""

    def measure(settings):
        shape = (20, 10) if settings.quick else _TABLE_SHAPE
        table = np.random.default_rng(0).integers(_TABLE_SYMBOLS, size=shape)
        table.flat[: min(table.size, _TABLE_SYMBOLS)] = np.arange(min(table.size, _TABLE_SYMBOLS))
        ours = dense_sweep("EM", list(table))
        n_symbols = ours.problem.cells.n_words
        codes = ours.problem.corpus.tokens.reshape(shape).astype(np.int64)
        return sweeps_against(ours, iteration(codes, N_STATES, n_symbols), settings, True, note)

    return measure


_SYNTHETIC = f"{_TABLE_SYMBOLS:,} symbols, sequences of {_TABLE_SHAPE[1]}"
ROWS = {
    "em-dense": Row("EM, K=45, against hmmlearn", em_dense, True, 12, 30, needs="hmmlearn"),
    "em-arithmetic": Row("EM, K=45, of BLAS peak", em_arithmetic, True, 25, 60, " %"),
    "em-dictionary": Row(
        "EM with a dictionary, against hmmlearn", em_dictionary, True, 100, 200, needs="hmmlearn"
    ),
    "em-open-dictionary": Row(
        "EM with a dictionary without words seen once, against hmmlearn",
        em_open_dictionary,
        True,
        None,
        None,
        needs="hmmlearn",
    ),
    "cvb-dictionary": Row(
        "CVB sequence with a dictionary, against EM",
        against_em("CVB sequence", dense=False),
        False,
        2,
        1.3,
    ),
    "cvb-partial": Row(
        "CVB sequence with a partial dictionary, against EM with all states",
        cvb_partial,
        False,
        1.2,
        0.5,
    ),
    "gibbs-dictionary": Row(
        "Gibbs with a dictionary, against EM", against_em("Gibbs", dense=False), False, 1, 0.6
    ),
    "vb-dictionary": Row(
        "VB with a dictionary, against EM", against_em("VB", dense=False), False, 1.3, 1.05
    ),
    "vb-dense": Row("VB, K=45, against EM", against_em("VB", dense=True), False, 1.3, 1.05),
    "threads-dense": Row(
        "Two restarts, two threads against one: EM, K=45", threads.dense, True, 1.7, 1.9
    ),
    "threads-one-restart": Row(
        "One restart, two threads against one: EM, K=45", threads.one_restart, True, None, None
    ),
    "threads-dictionary": Row(
        "Two restarts, two threads against one: CVB sequence with a dictionary",
        threads.with_dictionary,
        True,
        1.7,
        1.9,
    ),
    "memory": Row(
        "Peak memory of CVB sequence with a dictionary",
        memory.cvb,
        False,
        120,
        60,
        " bytes per token",
    ),
    "store": Row(
        "Writing a store from parquet", bulk.writing, True, 1, 3, " M tokens/s", needs="pyarrow"
    ),
    "import": Row("Import, against sklearn.base and numba", cold.imports, False, 1.2, 1.05),
    "pomegranate": Row(
        "EM, K=45, against pomegranate",
        other_library(peers.pomegranate_iteration, f"float32; {_SYNTHETIC}"),
        True,
        None,
        None,
        needs="pomegranate",
    ),
    "dynamax": Row(
        "EM, K=45, against dynamax",
        other_library(peers.dynamax_iteration, f"float32, compiled by XLA; {_SYNTHETIC}"),
        True,
        None,
        None,
        needs="dynamax",
    ),
    "tree-viterbi": Row(
        "Viterbi tree, treebank grammar, against NLTK", trees.parsing, True, 1000, 10_000
    ),
    "tree-arithmetic": Row(
        "Inside-outside with all rules, 30 + 30 symbols, of BLAS peak",
        trees.arithmetic,
        True,
        25,
        None,
        " %",
    ),
    "tree-torch": Row(
        "Inside-outside with all rules, against torch-struct",
        trees.against_torch,
        True,
        10,
        30,
        needs="torch_struct",
    ),
    "tree-independent": Row(
        "Sweep of EM, 64 symbols with independent children, against 16 with all rules",
        independent.sweep,
        True,
        1,
        None,
    ),
    "dependency-sweep": Row(
        "Sweep of CVB, dependency model with valence", dependencies.sweep, False, 1, 0.3, " s"
    ),
    **{
        f"dependency-torch/{length}": Row(
            f"Inside-outside of dependency trees, {length} tokens, against torch-struct",
            dependencies.against_torch(length),
            True,
            10,
            30,
            needs="torch_struct",
        )
        for length in (10, 20, 40)
    },
    **numbers.rows(),
    "alignment-sweep": Row(
        "Sweep of CVB, word alignment of 100,000 pairs", alignment.sweep, False, 10, 4, " s"
    ),
    **cold.rows(),
}
