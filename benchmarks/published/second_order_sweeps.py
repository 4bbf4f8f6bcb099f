"""The second-order update of footnote 2 on whole texts: `second_order` with sums that are kept.

Figure 2 of Wang and Blunsom (2013) asks for expected logs of six counts, each log m - v / (2 m^2)
with the mean m and the variance v of the count. The sums of chances p and of p (1 - p) are kept for
every count; a token is taken out of both, gets its new posterior, and is put back.
"""

from itertools import chain
from time import thread_time
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from benchmarks.published.taggers import tagger_of
from sklearn_cvb.kernels.jit import kept_on_disk
from sklearn_cvb.learning.generators import spawn_generators

_compiled = kept_on_disk(nogil=True)


class Rows(NamedTuple):
    """A row for each token, and two empty ones before, between and behind the sequences.

    Who looks two tokens to a side always finds a row; an empty one has no legal states.
    """

    symbols: np.ndarray  # (n,) -1 where nothing is observed
    first: np.ndarray  # (n + 1,) row t has the states ``states[first[t] : first[t + 1]]``
    states: np.ndarray  # legal states, ascending for each token

    @property
    def owners(self):
        """The row of each of `states`."""
        return np.repeat(np.arange(len(self.symbols)), np.diff(self.first))

    @property
    def tokens(self):
        """The rows that are no empty ones."""
        return np.flatnonzero(np.diff(self.first))


class Sums(NamedTuple):
    """Sums of chances, or of p (1 - p), over all that a count counts."""

    start: np.ndarray  # (K,)
    transition: np.ndarray  # (K, K)
    leaving: np.ndarray  # (K,) of tokens that have a successor
    emission: np.ndarray  # (K, W)
    emitting: np.ndarray  # (K,) of tokens that are observed


class Prior(NamedTuple):
    """Prior cells, as a `Problem` has them: the start row is the last of `alpha`."""

    alpha: np.ndarray  # (K + 1, K)
    beta: np.ndarray  # (K, W)


def rows_of(sequences, legal):
    """Rows of sequences of symbols (None where missing), and of the legal states of each token."""
    symbols, states = [-1, -1], [[], []]
    for sequence, allowed in zip(sequences, legal, strict=True):
        symbols += [-1 if symbol is None else symbol for symbol in sequence]
        states += map(sorted, allowed)
        symbols += [-1, -1]
        states += [[], []]
    first = np.cumsum([0, *map(len, states)])
    every = np.array([state for some in states for state in some], np.int64)
    return Rows(np.array(symbols, np.int64), first, every)


def no_sums(n_states, n_symbols):
    """Of no token."""
    shapes = n_states, (n_states, n_states), n_states, (n_states, n_symbols), n_states
    return Sums(*map(np.zeros, shapes))


@_compiled
def _add(mean, variance, rows, q, t, sign):
    """Put a token and its pairs with both neighbours in (sign 1), or take them out (-1)."""
    symbol, first = rows.symbols[t], rows.first
    is_first, is_last = first[t - 1] == first[t], first[t + 1] == first[t + 2]
    for k in rows.states[first[t] : first[t + 1]]:
        p = q[t, k]
        v = sign * p * (1 - p)
        if symbol >= 0:
            mean.emission[k, symbol] += sign * p
            variance.emission[k, symbol] += v
            mean.emitting[k] += sign * p
            variance.emitting[k] += v
        if is_first:
            mean.start[k] += sign * p
            variance.start[k] += v
        if not is_last:
            mean.leaving[k] += sign * p
            variance.leaving[k] += v
        for j in rows.states[first[t - 1] : first[t]]:
            pair = q[t - 1, j] * p
            mean.transition[j, k] += sign * pair
            variance.transition[j, k] += sign * pair * (1 - pair)
        for j in rows.states[first[t + 1] : first[t + 2]]:
            pair = p * q[t + 1, j]
            mean.transition[k, j] += sign * pair
            variance.transition[k, j] += sign * pair * (1 - pair)


@_compiled
def _expected_log(mean, variance, prior, order):
    """E[log(count + prior)], to the first or second order."""
    m = max(mean, 0.0) + prior
    return np.log(m) - (max(variance, 0.0) / (2 * m * m) if order == 2 else 0.0)


@_compiled
def _expected_log_of_step(cells, near, far, beside, k, states, order):
    """The same of the count of steps between state k and a neighbour of the token.

    `cells` are mean, variance and prior of such steps by the neighbour's state, and `states` its
    legal ones; `near` has the chances of the neighbour, `far` of the token behind it. The pair of
    these two is still in the sums: it depends on the neighbour's state, as does what it adds where
    that is k. `beside`: the chance that the other neighbour adds one there, too.
    """
    means, variances, prior = cells
    m, v, square = 0.0, 0.0, 0.0
    for j in states:
        pair = near[k] * far[j]
        mean = max(means[j] - pair, 0.0) + prior[j]
        variance = max(variances[j] - pair * (1 - pair), 0.0)
        if j == k:
            mean += far[k] + beside
            variance += far[k] * (1 - far[k]) + beside * (1 - beside)
        m += near[j] * mean
        v += near[j] * variance
        square += near[j] * mean * mean
    return _expected_log(m, v + square - m * m, 0.0, order)


@_compiled
def _log_update(rows, q, t, k, sums, prior, totals, order):
    """What figure 2 says of state k of a token that is taken out of the sums."""
    mean, variance = sums
    alpha, first, symbol = prior.alpha, rows.first, rows.symbols[t]
    before = rows.states[first[t - 1] : first[t]]
    after = rows.states[first[t + 1] : first[t + 2]]
    if len(before):
        cells = mean.transition[:, k], variance.transition[:, k], alpha[:-1, k]
        log = _expected_log_of_step(cells, q[t - 1], q[t - 2], 0.0, k, before, order)
    else:
        log = _expected_log(mean.start[k], variance.start[k], alpha[-1, k], order)
    if symbol >= 0:
        count, spread = mean.emission[k, symbol], variance.emission[k, symbol]
        log += _expected_log(count, spread, prior.beta[k, symbol], order)
        log -= _expected_log(mean.emitting[k], variance.emitting[k], totals.beta[k], order)
    if len(after):
        cells = mean.transition[k], variance.transition[k], alpha[k]
        log += _expected_log_of_step(cells, q[t + 1], q[t + 2], q[t - 1, k], k, after, order)
        log -= _expected_log(mean.leaving[k], variance.leaving[k], totals.alpha[k], order)
    return log


@_compiled
def sweep(rows, q, sums, prior, totals, order):
    """One sweep over all tokens with a choice; `q` (n, K) changes in place.

    `sums`: two `Sums` of no token, for means and for variances. `totals`: of the rows of `prior`.
    """
    mean, variance = sums
    seen = np.zeros_like(q)
    # Neighbours that were not yet seen add nothing: each pair is counted once.
    for t in range(2, len(q) - 2):
        seen[t] = q[t]
        _add(mean, variance, rows, seen, t, 1.0)
    logs = np.full(q.shape[1], -np.inf)
    for t in range(2, len(q) - 2):
        states = rows.states[rows.first[t] : rows.first[t + 1]]
        if len(states) > 1:
            _add(mean, variance, rows, q, t, -1.0)
            for k in states:
                logs[k] = _log_update(rows, q, t, k, sums, prior, totals, order)
            q[t] = np.exp(logs - logs.max())
            q[t] /= q[t].sum()
            logs[states] = -np.inf
            _add(mean, variance, rows, q, t, 1.0)


def sweeps(rows, q, prior, n_sweeps, order=2):
    """Posteriors (n, K) after sweeps over all tokens with more than one legal state."""
    q, totals = q.copy(), Prior(prior.alpha.sum(axis=1), prior.beta.sum(axis=1))
    for _ in range(n_sweeps):
        # Summed again, so that rounding does not build up.
        sums = no_sums(*prior.beta.shape), no_sums(*prior.beta.shape)
        sweep(rows, q, sums, prior, totals, order)
    return q


def rows_of_text(text, classes):
    """Rows of the words of a text under its dictionary, as a tagger with these classes reads it.

    Returns the rows and the number of words.
    """
    states = {tag: state for state, tag in enumerate(classes)}
    codes = {word: code for code, word in enumerate(dict.fromkeys(chain.from_iterable(text.X)))}
    every = range(len(states))
    legal = {
        word: [states[tag] for tag in text.dictionary[word]] if word in text.dictionary else every
        for word in codes
    }
    sequences = [[codes[word] for word in sentence] for sentence in text.X]
    return rows_of(sequences, [[legal[word] for word in row] for row in text.X]), len(codes)


def token_start(rows, n_states, seed):
    """What ``init="token"`` draws with this `random_state`: any posterior is as likely."""
    (rng,) = spawn_generators(check_random_state(seed), 1)
    q, owners = np.zeros((len(rows.symbols), n_states)), rows.owners
    q[owners, rows.states] = rng.standard_exponential(len(owners))
    totals = q.sum(axis=1, keepdims=True)
    return np.divide(q, totals, out=q, where=totals > 0)


def second_order_restarts(text, plan, n_jobs=1, order=2, *, alpha, beta):
    """What `taggers.fit_restarts` gives, by this update; starts are those of CVB token."""
    tagger = tagger_of("cvb-token", text, 1).fit(text.X[:3])
    classes = tagger.classes_
    rows, n_words = rows_of_text(text, classes)
    n_states = len(classes)
    prior = Prior(np.full((n_states + 1, n_states), alpha), np.full((n_states, n_words), beta))
    gold = np.concatenate([np.asarray(tags, object) for tags in text.y])

    def fit(seed):
        begin = thread_time()
        q = token_start(rows, n_states, seed)
        q = sweeps(rows, q, prior, plan.sweeps, order)
        found = classes[q[rows.tokens].argmax(axis=1)]
        return float(np.mean(found == gold)), thread_time() - begin

    sweeps(rows, token_start(rows, n_states, 0), prior, 1)  # compiles
    fits = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(fit)(seed) for seed in range(plan.restarts)
    )
    accuracies, seconds = map(list, zip(*fits, strict=True))
    return {
        "sweeps": plan.sweeps,
        "accuracies": accuracies,
        "seconds": seconds,
        "alpha": alpha,
        "beta": beta,
    }
