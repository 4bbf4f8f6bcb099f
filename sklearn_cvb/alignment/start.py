"""Where a fit starts: links from IBM model 1, even, random, given, or of a fitted model."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_cvb.alignment.inference import (
    Problem,
    even_links,
    leave_out_sweep,
    normalised_links,
    placed,
    sum_of,
    tally_of,
)
from sklearn_cvb.alignment.parameters import Prior
from sklearn_cvb.containers import as_list
from sklearn_cvb.kernels.alignment.arrays import Shares

# Concentrations of the start where an algorithm has none: leaving out a pair would leave nothing of
# the words that it alone holds.
_LEAST_BETA, _LEAST_ALPHA, _LEAST_NULL = 1e-3, 1e-3, 1e-3


def first_shares(
    init: Any, init_sweeps: int, problem: Problem, rng: np.random.Generator
) -> tuple[Shares, np.ndarray]:
    """What each pair adds to the first counts, and these counts.

    Parameters
    ----------
    init : {"ibm1", "even", "random"}, list of arrays, or model
    init_sweeps : int
        Of collapsed variational Bayes for IBM model 1.
    problem : Problem
    rng : numpy.random.Generator

    Returns
    -------
    shares : Shares
    cells : ndarray of shape (n_cells,)
    """
    pairs, layout, prior = problem.pairs, problem.layout, _proper(problem.prior, problem)
    if not isinstance(init, str):
        tables = given_tables(init, problem)
        link = np.concatenate([table.T.ravel() for table in tables])
        link = normalised_links(link, pairs)
    elif init == "random":
        link = normalised_links(rng.standard_exponential(pairs.first[-1]), pairs)
    else:
        link = even_links(pairs)
    shares = placed(link, pairs, prior, layout)
    cells = sum_of(shares, pairs, layout)
    if isinstance(init, str) and init == "ibm1":
        for _ in range(init_sweeps):
            tally = tally_of(cells, prior, layout)
            shares, _ = leave_out_sweep(pairs, tally, shares, uniform=True)
            cells = sum_of(shares, pairs, layout)
    return shares, cells


def _proper(prior: Prior, problem: Problem) -> Prior:
    """A prior without zeros."""
    layout = problem.layout
    least = np.repeat(
        [_LEAST_BETA, _LEAST_ALPHA, _LEAST_NULL], [len(layout.keys), layout.n_jumps, 2]
    )
    if (prior.cells[:-2] > 0).all() and (prior.totals > 0).all():
        return prior
    rest = np.maximum(prior.rest, _LEAST_BETA)
    added = np.maximum(prior.cells, least) - prior.cells
    unlisted = layout.n_targets - np.bincount(layout.rows, minlength=layout.n_rows)
    unlisted[layout.n_sources + 1 :] = 0
    totals = prior.totals + layout.totals_of(added) + unlisted * (rest - prior.rest)
    return Prior(prior.cells + added, totals, rest, prior.p_null)


def given_tables(init: Any, problem: Problem) -> list[np.ndarray]:
    """Link posteriors that a user gives, or that a fitted model has, of shape (m, n + 1) each."""
    pairs = problem.pairs
    shapes = list(
        zip(
            np.diff(pairs.target_starts).tolist(),
            (np.diff(pairs.source_starts) + 1).tolist(),
            strict=True,
        )
    )
    if hasattr(init, "predict_proba"):
        init = init.predict_proba(_words_of(problem))
    tables: Sequence | None = as_list(init)
    if tables is None or len(tables) != len(shapes):
        n = "no list" if tables is None else f"{len(tables)} arrays"
        raise ValueError(
            f"init is {n} for {len(shapes)} sentence pairs: give a table of link posteriors for "
            "each"
        )
    found = []
    for i, (table, shape) in enumerate(zip(tables, shapes, strict=True)):
        table = np.asarray(table, dtype=np.float64)
        if table.shape != shape:
            raise ValueError(
                f"init[{i}] has shape {table.shape} in place of {shape}: a row for each target "
                "word, a column for each source word and one for none"
            )
        if not (np.isfinite(table).all() and (table >= 0).all()):
            raise ValueError(f"init[{i}] holds negative or infinite numbers, or NaN")
        found.append(table)
    return found


def _words_of(problem: Problem) -> list[tuple[list, list]]:
    """The sentence pairs in words."""
    pairs, corpus = problem.pairs, problem.corpus
    source, target = problem.types
    # Words beyond the vocabulary are all alike.
    unknown = object()
    rows = [source[row] if row < len(source) else unknown for row in pairs.source.tolist()]
    words = [target[token] if token < len(target) else unknown for token in corpus.tokens.tolist()]
    starts = pairs.source_starts.tolist(), pairs.target_starts.tolist()
    return [
        (rows[a:b], words[c:d])
        for a, b, c, d in zip(
            starts[0][:-1], starts[0][1:], starts[1][:-1], starts[1][1:], strict=True
        )
    ]
