"""Sweeps on numbers in plain words: every path of every sequence is written out.

Densities come from the families, which tests/emissions proves; all that is of the chain is said
anew. A series is an array (length, n_columns).
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.special import digamma, gammaln, logsumexp

from sklearn_cvb import Durations, Transitions
from sklearn_cvb.emissions.mixtures import MixtureFamily, ZeroInflatedFamily
from sklearn_cvb.emissions.semi_markov import SemiMarkovFamily, law_of_durations
from sklearn_cvb.emissions.student import StudentColumns
from sklearn_cvb.reading.moments import moments_of


class Setting(NamedTuple):
    """Series, their family, and the prior of the chain."""

    family: Any
    series: list
    n_states: int
    alpha: float
    start_alpha: float | np.ndarray
    # (K,) and (K, K), bool
    start: np.ndarray
    transition: np.ndarray
    is_tied: bool
    has_end: bool
    # Of each step of each series: it is entered by the table of this number.
    contexts: list
    # The longest visit where durations have laws; 0 where not.
    longest: int
    # States that no other follows: their visits last to the end.
    endless: tuple

    @property
    def n_observed(self):
        return sum(int((~np.isnan(x).all(axis=1)).sum()) for x in self.series)


class Counts(NamedTuple):
    start: np.ndarray
    # (K, K + 1), the end last; of several contexts one table below the other
    transition: np.ndarray
    statistics: np.ndarray


def setting_of(model, series):
    """The same problem as an unfitted model has with these series."""
    n = model.n_components
    series = [np.asarray(x, float).reshape(len(x), -1) for x in series]
    emission = model.emission
    if isinstance(emission, str):
        from sklearn_cvb import emissions

        emission = getattr(emissions, emission.capitalize())()
    start, allowed, is_tied = np.ones(n, bool), np.ones((n, n), bool), False
    chosen = Transitions.of(model.transitions)
    if not isinstance(chosen.topology, str):
        allowed = np.asarray(chosen.topology)
    elif chosen.topology == "left-right":
        start, allowed = np.arange(n) == 0, np.triu(allowed)
    elif chosen.topology == "constant":
        allowed = np.eye(n, dtype=bool)
    elif chosen.topology == "independent":
        is_tied = True
    start_alpha = model.alpha if chosen.start_alpha is None else chosen.start_alpha
    contexts = [np.zeros(len(x), int) for x in series]
    if chosen.contexts is not None:
        series, contexts = apart(series)
    family = emission.bind(moments_of(np.concatenate(series)), n)
    prior = model.alpha, start_alpha
    longest, endless = 0, ()
    if chosen.durations is not None:
        lasting = Durations.of(chosen.durations)
        allowed, longest = allowed & ~np.eye(n, dtype=bool), lasting.longest
        endless = tuple(k for k in range(n) if not allowed[k].any())
        # Rows of one cell, of which nothing is learned.
        allowed[endless, endless] = True
        law = law_of_durations(lasting.law, longest, n)
        family = SemiMarkovFamily(family, law, longest, np.array(endless, int))
    topology = start, allowed, is_tied, chosen.end_state
    return Setting(family, series, n, *prior, *topology, contexts, longest, endless)


def apart(series):
    """Series without their last column, and the contexts that it holds."""
    return [x[:, :-1] for x in series], [np.nan_to_num(x[:, -1]).astype(int) for x in series]


def allowed_table(setting):
    """(K, K + 1): what may follow, the end last; as many tables as there are contexts."""
    end = np.full((setting.n_states, 1), setting.has_end)
    return np.tile(np.hstack([setting.transition, end]), (n_contexts(setting), 1))


def n_contexts(setting):
    return 1 + max(own.max() for own in setting.contexts)


def moves_into(tables, contexts, n):
    """The table (K, .) that leads to each step, from all tables."""
    return tables.reshape(-1, n, tables.shape[1])[contexts]


# What a path weighs


def infer(log_start, log_transitions, log_end, scores):
    """log Z, posteriors and pair marginals of a series, by all of its paths.

    `log_transitions` (T - 1, K, K) may differ from step to step; `log_end` is (K,).
    """
    n_steps, n = scores.shape
    paths = np.array(list(itertools.product(range(n), repeat=n_steps)))
    logs = log_start[paths[:, 0]] + log_end[paths[:, -1]]
    for t in range(n_steps):
        logs = logs + scores[t, paths[:, t]]
        if t:
            logs = logs + log_transitions[t - 1][paths[:, t - 1], paths[:, t]]
    log_z = logsumexp(logs)
    if np.isneginf(log_z):
        return log_z, np.zeros((n_steps, n)), np.zeros((n_steps - 1, n, n))
    shares = np.exp(logs - log_z)
    posterior, pairs = np.zeros((n_steps, n)), np.zeros((n_steps - 1, n, n))
    for t in range(n_steps):
        np.add.at(posterior[t], paths[:, t], shares)
        if t:
            np.add.at(pairs[t - 1], (paths[:, t - 1], paths[:, t]), shares)
    return log_z, posterior, pairs


class Joint(NamedTuple):
    """Marginals of the steps of a series, and of the visits that begin at each of them."""

    # (T - 1, K, K) and (T, K, L)
    pairs: np.ndarray
    visits: np.ndarray

    def inside(self, begin, end):
        """Visits that begin at some steps, (1, K, L)."""
        return self.visits[begin:end].sum(axis=0)[None]


def segmentations(n_steps, n, longest, endless=(), begin=0, before=None):
    """All visits (state, first step, duration) that make up so many steps; the last may go on.

    Those to endless states have no duration.
    """
    if begin >= n_steps:
        return [()]
    last = [((k, begin, None),) for k in endless if k != before]
    return last + [
        ((k, begin, duration), *rest)
        for k in range(n)
        if k != before and k not in endless
        for duration in range(1, longest + 1)
        for rest in segmentations(n_steps, n, longest, endless, begin + duration, k)
    ]


def infer_visits(log_start, log_transitions, durations, scores, endless=()):
    """`infer` where visits last by log probabilities of durations 1..L, (T, K, L), and every path.

    Also the log weight of each path, its visits summed over.
    """
    (n_steps, n), longest = scores.shape, durations.shape[2]
    every, logs, paths = segmentations(n_steps, n, longest, endless), [], {}
    for visits in every:
        value, path, before = 0.0, np.empty(n_steps, int), None
        for k, t, duration in visits:
            value += log_start[k] if before is None else log_transitions[t - 1][before, k]
            end = n_steps if duration is None else t + duration
            value += 0.0 if duration is None else durations[t, k, duration - 1]
            value += scores[t:end, k].sum()
            path[t:end] = before = k
        logs.append(value)
        paths[tuple(path)] = np.logaddexp(paths.get(tuple(path), -np.inf), value)
    log_z = logsumexp(logs)
    posterior, pairs = np.zeros((n_steps, n)), np.zeros((n_steps - 1, n, n))
    begun = np.zeros(durations.shape)
    for visits, share in zip(every, np.exp(np.array(logs) - log_z), strict=True):
        before = None
        for k, t, duration in visits:
            posterior[t : n_steps if duration is None else t + duration, k] += share
            if duration is not None:
                begun[t, k, duration - 1] += share
            if before is not None:
                pairs[t - 1, before, k] += share
            before = k
    return log_z, posterior, Joint(pairs, begun), paths


def durations_of(scores, n_steps):
    """Log probabilities of durations of visits that begin at so many steps."""
    own = scores.log_durations(1)[0]
    return np.broadcast_to(own, (n_steps, *own.shape))


def scores_of(family, scores, x):
    """Log densities (T, K) of a series."""
    out = np.empty((len(x), family.n_states))
    scores.fill(family.read(x), np.array([0, len(x)]), out)
    return out


def statistics_of(family, x, posterior, scores=None, visits=None):
    """Statistics (S, K) of some steps; `scores` say what to expect of missing values."""
    own = () if visits is None else (visits,)
    return family.statistics(family.read(x), posterior, np.array([0, len(x)]), scores, *own)[0]


def statistics_inside(family, x, posterior, inside, scores=None, visits=None):
    """Statistics of some steps of a series, which may depend on the values before them."""
    own = np.zeros_like(posterior)
    own[inside] = posterior[inside]
    return statistics_of(family, x, own, scores, visits)


# What posteriors count


def first_posteriors(setting, init):
    """Given posteriors, kept to where a series may begin."""
    posteriors = [np.array(q, float) for q in init]
    for q in posteriors:
        own = q[0] * setting.start
        own = own if own.sum() else setting.start.astype(float)
        q[0] = own / own.sum()
    return posteriors


def first_pairs(setting, posteriors):
    """Products of neighbours, where the topology allows them; no visit follows its own state."""
    allowed = setting.transition & ~(np.eye(setting.n_states, dtype=bool) & bool(setting.longest))
    return [(q[:-1, :, None] * q[1:, None, :]) * allowed for q in posteriors]


def first_visits(setting, pieces):
    """Visits (1, K, L) of steps that are independent: as geometric as states change.

    `pieces` are posteriors of the steps before and of those counted.
    """
    if not setting.longest:
        return None
    found = np.zeros((1, setting.n_states, setting.longest))
    for k in range(setting.n_states):
        held = sum(q[k] for _, q in pieces)
        stays = sum(before[k] * q[k] for before, q in pieces if before is not None)
        share = min(stays / held, 0.999) if held else 0.0
        shares = [share**u for u in range(setting.longest)]
        found[0, k] = (held - stays) * np.array(shares) / sum(shares)
    return found


def pieces_of(q, begin, end):
    """Steps of a series with those before them."""
    return [(q[t - 1] if t else None, q[t]) for t in range(begin, end)]


def counts_of(setting, posteriors, pairs, scores=None):
    """Counts of all series."""
    n = setting.n_states
    start, statistics = np.zeros(n), 0.0
    transition = np.zeros((n_contexts(setting) * n, n + 1))
    each = zip(setting.series, setting.contexts, posteriors, pairs, strict=True)
    for x, contexts, q, joint in each:
        if setting.is_tied:
            start += q.sum(axis=0)
        else:
            start += q[0]
            steps = joint.pairs if isinstance(joint, Joint) else joint
            np.add.at(transition.reshape(-1, n, n + 1)[:, :, :n], contexts[1:], steps)
            if setting.has_end:
                transition[:, n] += q[-1]
        visits = joint.inside(0, len(x)) if isinstance(joint, Joint) else None
        if setting.longest and visits is None:
            visits = np.zeros((1, n, setting.longest))
        statistics = statistics + statistics_of(setting.family, x, q, scores, visits)
    if setting.longest and not isinstance(pairs[0], Joint):
        # Where a fit starts, all series together tell how long visits last.
        visits = first_visits(setting, [one for q in posteriors for one in pieces_of(q, 0, len(q))])
        nothing = np.zeros((1, n))
        statistics = statistics + statistics_of(
            setting.family, setting.series[0][:1] * np.nan, nothing, None, visits
        )
    if scores is None and isinstance(setting.family, (MixtureFamily, StudentColumns)):
        # Where a fit starts, all series together tell components of mixtures, and factors.
        lengths = [sum(map(len, setting.series))]
        statistics = first_statistics(setting.family, setting.series, posteriors, lengths)[0]
    return Counts(start, transition, statistics)


def first_statistics(family, series, posteriors, lengths):
    """Statistics of units with these lengths, under no scores yet."""
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    observations = family.read(np.concatenate(series))
    return family.statistics(observations, np.concatenate(posteriors), bounds)


# EM and VB


def e_step(setting, log_start, log_transition, scores):
    """log Z of each series, posteriors and pairs; log_transition is (K, K + 1)."""
    n, results = setting.n_states, []
    log_end = log_transition[:, n] if setting.has_end else np.zeros(n)
    moves = log_transition[:, :n]
    if setting.is_tied:
        moves = np.tile(log_start, (n, 1))
    for x, contexts in zip(setting.series, setting.contexts, strict=True):
        steps, logs = moves_into(moves, contexts[1:], n), scores_of(setting.family, scores, x)
        if setting.longest:
            durations = durations_of(scores, len(x))
            given = log_start, steps, durations, logs, setting.endless
            results.append(infer_visits(*given)[:3])
        else:
            results.append(infer(log_start, steps, log_end, logs))
    return [list(part) for part in zip(*results, strict=True)]


def normalised_log(counts, prior, allowed, kept):
    """Logs of rows of probabilities; rows without any count keep their own."""
    rows = np.where(allowed, counts + prior, 0.0)
    totals = rows.sum(axis=-1, keepdims=True)
    rows = np.where(totals > 0, rows / np.where(totals > 0, totals, 1.0), kept)
    with np.errstate(divide="ignore"):
        return np.log(rows)


def em_sweeps(setting, init, n_sweeps):
    """Log-likelihood of every sweep, and the counts after the last."""
    posteriors = first_posteriors(setting, init)
    counts = counts_of(setting, posteriors, first_pairs(setting, posteriors))
    allowed = allowed_table(setting)
    start = setting.start / setting.start.sum()
    transition = allowed / allowed.sum(axis=1, keepdims=True)
    history, point = [], None
    for _ in range(n_sweeps):
        log_start = normalised_log(counts.start, setting.start_alpha, setting.start, start)
        logs = normalised_log(counts.transition, setting.alpha, allowed, transition)
        start, transition = np.exp(log_start), np.exp(logs)
        point = setting.family.most_likely(counts.statistics, point)
        scores = setting.family.log_densities(point)
        log_z, posteriors, pairs = e_step(setting, log_start, logs, scores)
        history.append(sum(log_z) + setting.family.log_prior(point))
        counts = counts_of(setting, posteriors, pairs, scores)
    return history, counts


def dirichlet_logs(counts, prior, allowed):
    """E[log theta] of each row, and its KL divergence from the prior."""
    with np.errstate(divide="ignore"):
        logs = np.full(counts.shape, -np.inf)
    divergence = 0.0
    for row in np.ndindex(counts.shape[:-1]):
        cells = np.flatnonzero(allowed[row])
        u0 = np.broadcast_to(prior, counts.shape)[row][cells]
        u = counts[row][cells] + u0
        logs[row + (cells,)] = digamma(u) - digamma(u.sum())
        divergence += gammaln(u.sum()) - gammaln(u).sum() - gammaln(u0.sum()) + gammaln(u0).sum()
        divergence += ((u - u0) * (digamma(u) - digamma(u.sum()))).sum()
    return logs, divergence


def vb_sweeps(setting, init, n_sweeps):
    """Bound of every sweep, and the counts after the last."""
    posteriors = first_posteriors(setting, init)
    counts = counts_of(setting, posteriors, first_pairs(setting, posteriors))
    history = []
    for _ in range(n_sweeps):
        log_start, penalty = dirichlet_logs(counts.start, setting.start_alpha, setting.start)
        logs, more = dirichlet_logs(counts.transition, setting.alpha, allowed_table(setting))
        penalty += setting.family.divergence(counts.statistics)
        penalty += 0.0 if setting.is_tied else more
        scores = setting.family.expected_log_densities(counts.statistics)
        log_z, posteriors, pairs = e_step(setting, log_start, logs, scores)
        history.append(sum(log_z) - penalty)
        counts = counts_of(setting, posteriors, pairs, scores)
    return history, counts


# Collapsed VB


class Unit(NamedTuple):
    """Steps of a series that are left out together."""

    series: int
    begin: int
    end: int


def units_of(setting, block_length):
    """Whole series, or windows of so many steps."""
    if setting.is_tied:
        return [Unit(i, t, t + 1) for i, x in enumerate(setting.series) for t in range(len(x))]
    units = []
    for i, x in enumerate(setting.series):
        step = len(x) if block_length is None else block_length
        units += [Unit(i, t, min(t + step, len(x))) for t in range(0, len(x), step)]
    return units


def groups_of(setting):
    """Series that are inferred from the same counts: a sixteenth of all steps, or one series."""
    if setting.is_tied:
        lengths = [1] * sum(map(len, setting.series))
    else:
        lengths = [len(x) for x in setting.series]
    most = max(1, min(8192, sum(lengths) // 16))
    groups, size = [[]], 0
    for i, length in enumerate(lengths):
        if groups[-1] and size + length > most:
            groups.append([])
            size = 0
        groups[-1].append(i)
        size += length
    return groups


def unit_counts(setting, unit, posteriors, pairs, statistics):
    """Counts of one unit: the steps into it are its own, and the end if it holds the last step."""
    n, contexts = setting.n_states, setting.contexts[unit.series]
    start, transition = np.zeros(n), np.zeros((n_contexts(setting) * n, n + 1))
    q, x = posteriors[unit.series], setting.series[unit.series]
    if setting.is_tied:
        start += q[unit.begin]
    elif unit.begin == 0:
        start += q[0]
    if not setting.is_tied:
        for t in range(max(1, unit.begin), unit.end):
            own, joint = slice(contexts[t] * n, (contexts[t] + 1) * n), pairs[unit.series]
            transition[own, :n] += (joint.pairs if isinstance(joint, Joint) else joint)[t - 1]
        if setting.has_end and unit.end == len(x):
            transition[:, n] += q[-1]
    return Counts(start, transition, statistics[unit])


def added(one, other, sign=1.0):
    return Counts(*(a + sign * b for a, b in zip(one, other, strict=True)))


def cvb_sweeps(setting, init, n_sweeps, block_length=None):
    """Mean log p(unit | others) of every sweep, the posteriors and the counts after the last."""
    posteriors = first_posteriors(setting, init)
    pairs = first_pairs(setting, posteriors)
    units = units_of(setting, block_length)
    statistics = {}
    if isinstance(setting.family, (MixtureFamily, StudentColumns)):
        for group in groups_of(setting):
            of = [u for i, u in enumerate(units) if (i if setting.is_tied else u.series) in group]
            cuts = [(setting.series, u) for u in of], [(posteriors, u) for u in of]
            own = [[table[u.series][u.begin : u.end] for table, u in part] for part in cuts]
            found = first_statistics(setting.family, *own, list(map(len, own[0])))
            statistics |= dict(zip(of, found, strict=True))
    else:
        for unit in units:
            x, q = setting.series[unit.series], posteriors[unit.series]
            own = slice(unit.begin, unit.end)
            visits = first_visits(setting, pieces_of(q, unit.begin, unit.end))
            statistics[unit] = statistics_inside(setting.family, x, q, own, None, visits)
    history = []
    for _ in range(n_sweeps):
        total = 0.0
        for group in groups_of(setting):
            state = posteriors, pairs, dict(statistics)
            whole = summed(setting, *state)
            found = {}
            for i in group:
                own = [unit for unit in units if unit.series == i]
                if setting.is_tied:
                    own = [units[i]]
                found[i] = series_by_units(setting, own, whole, state)
            for i, (log_z, q, joint, own) in found.items():
                total += log_z
                statistics.update(own)
                if setting.is_tied:
                    posteriors[units[i].series][units[i].begin] = q[0]
                else:
                    posteriors[i], pairs[i] = q, joint
        history.append(total / setting.n_observed)
    return history, posteriors, summed(setting, posteriors, pairs, statistics)


def summed(setting, posteriors, pairs, statistics):
    """Counts of all units."""
    whole = counts_of(setting, posteriors, pairs)
    return whole._replace(statistics=sum(statistics.values()))


def means_without(setting, own, whole):
    """Posterior means of the chain, and predictive scores, from what other units count."""
    others = added(whole, own, -1.0)
    with np.errstate(divide="ignore"):
        start = np.where(setting.start, others.start + setting.start_alpha, 0.0)
        allowed = allowed_table(setting)
        moves = np.where(allowed, others.transition + setting.alpha, 0.0)
        moves = moves / moves.sum(axis=1, keepdims=True)
        return np.log(start / start.sum()), np.log(moves), others.statistics


def series_by_units(setting, units, whole, state):
    """A series each of whose units has weights of its own, or a step that depends on no other.

    Also the new statistics of each unit.
    """
    n, first = setting.n_states, units[0]
    whole_series = setting.series[first.series]
    offset, n_steps = 0, len(whole_series)
    if setting.is_tied:
        offset, n_steps = first.begin, first.end - first.begin
    scores, steps, predictives = np.empty((n_steps, n)), np.empty((n_steps, n, n)), {}
    log_start, log_end = None, np.zeros(n)
    for unit in units:
        own = unit_counts(setting, unit, *state)
        start, moves, statistics = means_without(setting, own, whole)
        inside = slice(unit.begin - offset, unit.end - offset)
        predictives[unit] = setting.family.predictive(statistics)
        every = scores_of(setting.family, predictives[unit], whole_series)
        scores[inside] = every[unit.begin : unit.end]
        contexts = setting.contexts[unit.series][unit.begin : unit.end]
        steps[inside] = moves_into(moves, contexts, n)[:, :, :n]
        if inside.start == 0:
            log_start = start
        if setting.has_end and inside.stop == n_steps:
            log_end = moves[:, n]
    if setting.longest:
        durations = np.concatenate(
            [durations_of(own, unit.end - unit.begin) for unit, own in predictives.items()]
        )
        given = log_start, steps[1:], durations, scores, setting.endless
        log_z, q, joint, _ = infer_visits(*given)
    else:
        log_z, q, joint = infer(log_start, steps[1:], log_end, scores)
    new = {}
    for unit, predictive in predictives.items():
        every_q, inside = np.zeros((len(whole_series), n)), slice(unit.begin, unit.end)
        every_q[inside] = q[unit.begin - offset : unit.end - offset]
        visits = joint.inside(unit.begin, unit.end) if setting.longest else None
        new[unit] = statistics_of(setting.family, whole_series, every_q, predictive, visits)
    return log_z, q, joint, new


# Exact answers


def all_paths(setting):
    """Every assignment of states to all steps of all series, (n_paths, n_steps)."""
    n_steps = sum(map(len, setting.series))
    return np.array(list(itertools.product(range(setting.n_states), repeat=n_steps)))


def log_joints(setting):
    """log p(x, z) of every path, all parameters integrated out; -inf where none is allowed."""
    n, paths = setting.n_states, all_paths(setting)
    ends = np.cumsum([len(x) for x in setting.series])
    begins = np.concatenate([[0], ends[:-1]])
    allowed, found = allowed_table(setting), []
    contexts = np.concatenate(setting.contexts)
    for path in paths:
        start, moves = np.zeros(n), np.zeros((len(allowed), n + 1))
        for begin, end in zip(begins, ends, strict=True):
            if setting.is_tied:
                np.add.at(start, path[begin:end], 1)
                continue
            start[path[begin]] += 1
            row = path[begin : end - 1] + n * contexts[begin + 1 : end]
            np.add.at(moves, (row, path[begin + 1 : end]), 1)
            if setting.longest:
                # Within a visit nothing moves.
                np.fill_diagonal(moves, 0)
            if setting.has_end:
                moves[path[end - 1], n] += 1
        if (start[~setting.start] > 0).any() or (moves[~allowed] > 0).any():
            found.append(-np.inf)
            continue
        value = log_polya(start[setting.start], setting.start_alpha)
        for k in range(len(allowed)):
            value += log_polya(moves[k][allowed[k]], setting.alpha)
        cuts = np.split(np.eye(n)[path], begins[1:])
        given = log_evidence_of_visits if setting.longest else log_evidence_given
        found.append(value + given(setting, cuts))
    return paths, np.array(found)


def log_evidence_given(setting, posteriors):
    """log p(x | z), parameters integrated out, and components summed over where there are some."""
    family = setting.family
    if isinstance(family, StudentColumns):
        table, posterior = np.concatenate(setting.series), np.concatenate(posteriors)
        pairs = itertools.product(range(table.shape[1]), posterior.T > 0.5)
        return sum(student_evidence(family, table[own, d], d) for d, own in pairs)
    if not isinstance(family, MixtureFamily):
        each = zip(setting.series, posteriors, strict=True)
        return family.log_evidence(sum(statistics_of(family, x, q) for x, q in each))
    table, posterior = np.concatenate(setting.series), np.concatenate(posteriors)
    observations, whole, logs = family.read(table), np.array([0, len(table)]), []
    seen = np.flatnonzero(family.observed_mask(observations).any(axis=1))
    for components in itertools.product(range(len(family.families)), repeat=len(seen)):
        drawn = np.zeros(len(table), int)
        drawn[seen] = components
        if isinstance(family, ZeroInflatedFamily) and (table[seen, 0][drawn[seen] == 0] != 0).any():
            continue
        own = observations._replace(component=drawn)
        logs.append(family.log_evidence(family.statistics(own, posterior, whole)[0]))
    return logsumexp(logs)


def log_evidence_of_visits(setting, cuts):
    """log p(x, durations | z), summed over how long the last visit of each series goes on."""
    known, ways = np.zeros((setting.n_states, setting.longest)), []
    for cut in cuts:
        runs = [(k, len(list(own))) for k, own in itertools.groupby(cut.argmax(axis=1))]
        if max((own for k, own in runs if k not in setting.endless), default=0) > setting.longest:
            return -np.inf
        for k, length in runs[:-1]:
            known[k, length - 1] += 1
        last, at_least = runs[-1]
        durations = range(at_least, setting.longest + 1)
        is_endless = last in setting.endless
        ways.append([None] if is_endless else [(last, duration) for duration in durations])
    each = list(zip(setting.series, cuts, strict=True))
    logs, nothing = [], np.zeros_like(known)[None]
    own = sum(statistics_of(setting.family, x, q, None, nothing) for x, q in each)
    for last in itertools.product(*ways):
        visits = known.copy()
        for k, duration in filter(None, last):
            visits[k, duration - 1] += 1
        more = setting.family.statistics(
            setting.family.read(setting.series[0][:1] * np.nan),
            np.zeros((1, setting.n_states)),
            np.array([0, 1]),
            None,
            visits[None],
        )[0]
        logs.append(setting.family.log_evidence(own + more))
    return logsumexp(logs)


def log_polya(counts, prior):
    """Dirichlet-multinomial probability of a row's moves in their order."""
    total = prior * len(counts)
    value = gammaln(counts + prior).sum() - len(counts) * gammaln(prior)
    return value + gammaln(total) - gammaln(total + counts.sum())


def log_evidence(setting):
    """log p(x), by all paths."""
    return float(logsumexp(log_joints(setting)[1]))


def student_evidence(family, x, d):
    """log p(x) of some values of a column with the same state, on a grid of parameters."""
    prior, units = family.prior, family.units
    eta, z = np.linspace(-14.0, 6.0, 81)[:, None], np.linspace(-7.0, 7.0, 351)
    shape, rate = 0.5 * prior.degrees_of_freedom, 0.5 * prior.scale[d]
    # Log precisions, and means in their own prior deviations.
    logs = shape * np.log(rate) - gammaln(shape) + shape * eta - rate * np.exp(eta)
    logs = logs - 0.5 * z**2 - 0.5 * np.log(2.0 * np.pi)
    scale = np.exp(-0.5 * eta)
    means = prior.mean[d] + z * scale / np.sqrt(prior.mean_precision)
    for value in (x[~np.isnan(x)] - units.centre[d]) / units.scale[d]:
        logs = logs + stats.t.logpdf((value - means) / scale, family.degrees)
        logs = logs - np.log(scale * units.scale[d])
    return logsumexp(logs) + np.log((eta[1] - eta[0]) * (z[1] - z[0])).item()
