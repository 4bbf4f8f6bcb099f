"""The problem of a store, piece by piece: laid out once, kept on the disk, loaded when asked for.

Whoever leads the fit asks all pieces as shards (`sklearn_cvb.learning.parts`). A piece is loaded,
asked, and dropped before the next: memory holds one piece and the counts of all.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from sklearn_cvb.chain.lattice import Cells, Problem
from sklearn_cvb.chain.symbols.engines import Engines, engines_of
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.chain.symbols.shards import ChainShard
from sklearn_cvb.chain.symbols.stored.reading import part_of_store, types_of_store
from sklearn_cvb.chain.symbols.vocabulary_pass import Layout, problem_of_part
from sklearn_cvb.chain.symbols.whole import chain_of
from sklearn_cvb.learning.parts import Facts, Found, Place, added
from sklearn_cvb.store import CorpusStore, StoredTags
from sklearn_cvb.store.scratch import Kept, Scratch


class Piece(NamedTuple):
    """A piece of a store.

    Attributes
    ----------
    kept : Kept
        Its problem and, for EM and VB, the forms of its sequences.
    place : Place
    facts : Facts
    unexplained : ndarray
        Its sequences that no path can explain, by their number in the store.
    """

    kept: Kept
    place: Place
    facts: Facts
    unexplained: np.ndarray


class Pieces:
    """All pieces of a store under a layout.

    Parameters
    ----------
    layout : Layout
    store : CorpusStore
    y : StoredTags or None
    with_forms : bool
        Whether the forms of sequences are kept, which EM and VB infer by.
    """

    def __init__(
        self, layout: Layout, store: CorpusStore, y: StoredTags | None, with_forms: bool
    ) -> None:
        self.store = store
        self._scratch = Scratch(store.scratch)
        self.pieces: list[Piece] = []
        types, spans = types_of_store(store), store.pieces()
        # What pieces warn of, and the first sequence of the first that does.
        self.messages: dict[str, int] = {}
        for index, span in enumerate(spans):
            problem, messages = problem_of_part(layout, part_of_store(store, types, span, y))
            for message in messages:
                self.messages.setdefault(message, span[0])
            chain = chain_of(layout, problem)
            # Those of all pieces, but for where a start would begin that is none of theirs.
            self.cells, self.settings = chain.cells, chain.settings
            shard = ChainShard(chain, Place(index, span[0]))
            self.pieces.append(self._kept(shard, with_forms))

    def _kept(self, shard: ChainShard, with_forms: bool) -> Piece:
        problem: Problem = shard.model.problem
        forms = engines_of(problem) if with_forms else None
        if forms is not None and forms.side_by_side is not None:
            # Their tables have a row for each word: made anew they cost less than they take.
            forms = None
        unexplained = problem.of_given(np.empty(0, np.intp)) + shard.place.first
        kept = self._scratch.keep((_without_words(problem), forms), (Cells,))
        return Piece(kept, shard.place, shard.facts(), unexplained)

    @property
    def facts(self) -> list[Facts]:
        """What the leader knows of the pieces."""
        return [piece.facts for piece in self.pieces]

    @property
    def unexplained(self) -> np.ndarray:
        """The sequences that no path can explain."""
        return np.concatenate([piece.unexplained for piece in self.pieces])

    def load(self, index: int) -> tuple[Problem, Engines | None]:
        """The problem of a piece, and its forms."""
        return self.pieces[index].kept.load()

    def __iter__(self) -> Iterator[Problem]:
        for index in range(len(self.pieces)):
            yield self.load(index)[0]


def _without_words(problem: Problem) -> Problem:
    """A problem without the words that the model does not know, of which it knows the codes."""
    rest = problem.left_out
    return problem._replace(
        corpus=problem.corpus._replace(unknown=[]),
        given=problem.given._replace(unknown=[]),
        left_out=None if rest is None else _without_words(rest),
    )


class StoredParts:
    """The pieces of a store as shards, all asked from the same weights or counts.

    Parameters
    ----------
    pieces : Pieces
    n_jobs : int or None
        Threads, each with a piece of its own; the result does not depend on it.
    """

    def __init__(self, pieces: Pieces, n_jobs: int | None = None) -> None:
        self.pieces = pieces
        self._n_threads = min(effective_n_jobs(n_jobs), len(pieces.pieces))
        # Sequences that float64 has lost, by piece.
        self._lost: dict[int, np.ndarray] = {}

    def ask(self, name: str, *arguments: Any) -> Found:
        """Call a method of every piece's shard, and add up what they return in their order."""

        def found_in(index: int) -> Found:
            return self._ask(index, name, arguments)

        indices = range(len(self.pieces.pieces))
        if self._n_threads == 1:
            return reduce(added, map(found_in, indices))
        with ThreadPoolExecutor(self._n_threads) as pool:
            return reduce(added, pool.map(found_in, indices))

    def _ask(self, index: int, name: str, arguments: tuple) -> Found:
        problem, forms = self.pieces.load(index)
        if index in self._lost:
            forms = engines_of(problem, self._lost[index])
        chain = SymbolChain(problem, self.pieces.settings)
        shard = ChainShard(chain, self.pieces.pieces[index].place)
        shard.work = forms
        found: Found = getattr(shard, name)(*arguments)
        if shard.work is not None and len(shard.work.lost):
            self._lost[index] = np.array(shard.work.lost)
        return found
