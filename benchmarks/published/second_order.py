"""The second-order term of the update by token, slowly: the paper's footnote 2.

Every random count of figure 2 (Wang and Blunsom 2013) is a mixture: a list of (weight, prior,
chances), where the chances are those of the independent events it counts. All are collected again
from q for every token and state. The package has the first order alone: the experiments that show
what the second is worth, `marginals` and `mean_field`, run this; on whole texts
`second_order_sweeps` does, which keeps the sums.
"""

import numpy as np

from benchmarks.enumeration.problems import legal_states


def other_chances(problem, q, i, t, k, counted):
    """Chances of state k at all tokens (j, s) that are counted, but (i, t)."""
    return [
        q[j][s, k]
        for j, sequence in enumerate(problem.sequences)
        for s in range(len(sequence))
        if (j, s) != (i, t) and counted(j, s)
    ]


def pair_chances(q, before, after, left_out):
    """Chances of all transitions from one state to another, but the pairs left out."""
    return [
        row[s, before] * row[s + 1, after]
        for j, row in enumerate(q)
        for s in range(len(row) - 1)
        if (j, s) not in left_out
    ]


def emission_count(problem, q, i, t, k):
    symbol = problem.sequences[i][t]
    shown = other_chances(problem, q, i, t, k, lambda j, s: problem.sequences[j][s] == symbol)
    return [(1.0, problem.beta[k, symbol], shown)]


def emission_total(problem, q, i, t, k):
    seen = other_chances(problem, q, i, t, k, lambda j, s: problem.sequences[j][s] is not None)
    return [(1.0, problem.beta[k].sum(), seen)]


def incoming_count(problem, q, i, t, k):
    if t == 0:
        first = other_chances(problem, q, i, t, k, lambda j, s: s == 0)
        return [(1.0, problem.alpha[-1, k], first)]
    mixture = []
    for before in range(problem.n_states):
        chances = pair_chances(q, before, k, {(i, t - 2), (i, t - 1), (i, t)})
        if before == k and t >= 2:
            chances.append(q[i][t - 2, k])
        mixture.append((q[i][t - 1, before], problem.alpha[before, k], chances))
    return mixture


def outgoing_count(problem, q, i, t, k):
    mixture = []
    for after in range(problem.n_states):
        chances = pair_chances(q, k, after, {(i, t - 1), (i, t), (i, t + 1)})
        if after == k and t + 2 < len(q[i]):
            chances.append(q[i][t + 2, k])
        if after == k and t > 0:
            chances.append(q[i][t - 1, k])
        mixture.append((q[i][t + 1, after], problem.alpha[k, after], chances))
    return mixture


def outgoing_total(problem, q, i, t, k):
    leaving = other_chances(problem, q, i, t, k, lambda j, s: s + 1 < len(q[j]))
    return [(1.0, problem.alpha[k].sum(), leaving)]


def counts_of(problem, q, i, t, k):
    """(sign of its log, mixture) of every count in the update of one state, by name."""
    counts = {"incoming": (1, incoming_count(problem, q, i, t, k))}
    if problem.sequences[i][t] is not None:
        counts["emission"] = (1, emission_count(problem, q, i, t, k))
        counts["emission total"] = (-1, emission_total(problem, q, i, t, k))
    if t + 1 < len(q[i]):
        counts["outgoing"] = (1, outgoing_count(problem, q, i, t, k))
        counts["outgoing total"] = (-1, outgoing_total(problem, q, i, t, k))
    return counts


def moments(mixture, mistake=None):
    """Mean and variance of a mixture of sums of independent Bernoulli variables."""
    weights = [weight for weight, _, _ in mixture]
    means = [prior + sum(chances) for _, prior, chances in mixture]
    within = [sum(p * (1 - p) for p in chances) for _, _, chances in mixture]
    mean = sum(w * m for w, m in zip(weights, means, strict=True))
    variance = sum(w * v for w, v in zip(weights, within, strict=True))
    if mistake != "rows_alike":
        variance += sum(w * (m - mean) ** 2 for w, m in zip(weights, means, strict=True))
    return mean, variance


def expected_log(mixture, order, mistake=None):
    mean, variance = moments(mixture, mistake)
    return np.log(mean) - (variance / (2 * mean**2) if order == 2 else 0.0)


def token_update(problem, q, i, t, order, mistake=None):
    """The new q of one token, shape (K,)."""
    states = list(legal_states(problem, i, t))
    logs = np.zeros(len(states))
    for index, k in enumerate(states):
        for sign, mixture in counts_of(problem, q, i, t, k).values():
            first = expected_log(mixture, 1)
            correction = expected_log(mixture, order, mistake) - first
            logs[index] += sign * first
            logs[index] += correction if mistake == "no_signs" else sign * correction
    update = np.zeros(problem.n_states)
    update[states] = np.exp(logs - logs.max())
    return update / update.sum()


def sweeps(problem, q, n_sweeps, order=2, mistake=None):
    """Posteriors after sweeps over all tokens with more than one legal state."""
    q = [table.copy() for table in q]
    for _ in range(n_sweeps):
        for i, table in enumerate(q):
            for t in range(len(table)):
                if len(legal_states(problem, i, t)) > 1:
                    table[t] = token_update(problem, q, i, t, order, mistake)
    return q
