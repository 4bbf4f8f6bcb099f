"""Calls on threads, over pieces of the data: kernels release the interpreter's lock."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs


def even_pieces(starts: np.ndarray, n_tokens: int) -> list[tuple[int, int]]:
    """Ranges of sequences with about this many tokens each, in order.

    Parameters
    ----------
    starts : ndarray of shape (n_sequences + 1,)
        Where each sequence begins among all tokens, and where the last one ends.
    n_tokens : int

    Returns
    -------
    list of tuple
        ``(begin, end)``.
    """
    cuts = np.searchsorted(starts, np.arange(n_tokens, starts[-1], n_tokens))
    cuts = np.unique([0, *cuts, len(starts) - 1]).tolist()
    return list(pairwise(cuts))


def threads_for_each(n_restarts: int, n_jobs: int | None) -> int:
    """How many threads each restart has to itself when restarts run on `n_jobs` threads."""
    return max(1, effective_n_jobs(n_jobs) // n_restarts)


def on_threads(
    work: Callable[..., Any], pieces: list[tuple[Any, ...]], n_jobs: int | None
) -> list[Any]:
    """Call ``work(*piece)`` for each piece on threads; every call writes a place of its own.

    Parameters
    ----------
    work : callable
    pieces : list of tuple
    n_jobs : int or None

    Returns
    -------
    list
        What the calls return, in the order of the pieces.
    """
    n_threads = min(effective_n_jobs(n_jobs), len(pieces))
    if n_threads <= 1:
        return [work(*piece) for piece in pieces]
    waiting = deque(enumerate(pieces))
    results: list[Any] = [None] * len(pieces)

    def run() -> None:
        while waiting:
            try:
                place, piece = waiting.popleft()
            except IndexError:
                # Another thread has taken the last one.
                return
            results[place] = work(*piece)

    # Joblib looks for results every 10 ms: too seldom for what is called in every sweep. Starting
    # a thread takes as long as a small piece: this one works, too.
    with ThreadPoolExecutor(n_threads - 1) as pool:
        others = [pool.submit(run) for _ in range(n_threads - 1)]
        try:
            run()
            for other in others:
                other.result()
        finally:
            waiting.clear()
    return results
