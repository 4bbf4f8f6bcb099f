"""Token by token, slowly: Algorithm 1 (figure 3) and the Gibbs conditional (figure 1).

Problems are those of `restatement`; every count is rebuilt before each token. Equation and figure
numbers are those of Wang and Blunsom 2013.
"""

import numpy as np
import restatement


def pair_count(problem, q, left_out):
    """Sum of q_t q_{t+1} over all pairs but those (i, t), (i, t + 1) whose (i, t) is left out."""
    table = np.zeros((problem.n_states, problem.n_states))
    for i, marginals in enumerate(q):
        for t in range(len(marginals) - 1):
            if (i, t) not in left_out:
                table += np.outer(marginals[t], marginals[t + 1])
    return table


def row_totals(problem, q, mistake=None):
    """out[k] without sequence-final tokens, emit[k] with them but without missing tokens."""
    out, emit = np.zeros(problem.n_states), np.zeros(problem.n_states)
    for i, sequence in enumerate(problem.sequences):
        for t, symbol in enumerate(sequence):
            if t + 1 < len(sequence):
                out += q[i][t]
            if symbol is not None:
                emit += q[i][t]
    return (emit, out) if mistake == "swap" else (out, emit)


def emission_term(problem, q, i, t, mistake=None):
    """First factor of figure 3, shape (K,); 1 where the observation is missing."""
    symbol = problem.sequences[i][t]
    if symbol is None:
        return np.ones(problem.n_states)
    count = np.zeros(problem.n_states)
    for other, sequence in enumerate(problem.sequences):
        for s, shown in enumerate(sequence):
            if shown == symbol and ((other, s) != (i, t) or mistake == "no_subtraction"):
                count += q[other][s]
    emit = row_totals(problem, q, mistake)[1]
    own = 0.0 if mistake == "no_subtraction" else q[i][t]
    return (count + problem.beta[:, symbol]) / (emit - own + problem.beta.sum(axis=1))


def incoming_term(problem, q, i, t, mistake=None):
    """Numerator of figure 3's second factor; its denominator does not depend on k."""
    n_states, own = problem.n_states, q[i]
    if t == 0:
        others = [row[0] for j, row in enumerate(q) if j != i or mistake == "no_subtraction"]
        return sum(others, np.zeros(n_states)) + problem.alpha[n_states]
    left_out = set() if mistake == "no_subtraction" else {(i, t - 2), (i, t - 1), (i, t)}
    counts = pair_count(problem, q, left_out)
    term = np.zeros(n_states)
    for k in range(n_states):
        for before in range(n_states):
            term[k] += own[t - 1, before] * (counts[before, k] + problem.alpha[before, k])
        # Eq. 20's second term reads k, k: the pair (t-2, t-1) counts where both are in state k.
        if t >= 2 and mistake == "eq20_printed":
            term[k] += own[t - 1, k]
        elif t >= 2 and mistake not in ("eq20", "no_subtraction"):
            term[k] += own[t - 2, k] * own[t - 1, k]
    return term


def outgoing_term(problem, q, i, t, mistake=None):
    """Figure 3's third factor, absent at the end of a sequence."""
    n_states, own = problem.n_states, q[i]
    if t + 1 == len(own):
        return np.ones(n_states)
    left_out = set() if mistake == "no_subtraction" else {(i, t - 1), (i, t), (i, t + 1)}
    counts = pair_count(problem, q, left_out)
    out = row_totals(problem, q, mistake)[0]
    term = np.zeros(n_states)
    for k in range(n_states):
        for after in range(n_states):
            term[k] += own[t + 1, after] * (counts[k, after] + problem.alpha[k, after])
        if t + 2 < len(own) and mistake not in ("eq20", "no_subtraction"):
            term[k] += own[t + 1, k] * own[t + 2, k]
        before = own[t - 1, k] if t > 0 else 0.0
        term[k] += before * own[t + 1, k]
        # out without token t and without t - 1's transition into it, then delta's expectation.
        left = 0.0 if mistake == "no_subtraction" else before + own[t, k]
        term[k] /= out[k] - left + problem.alpha[k].sum() + before
    return term


def token_update(problem, q, i, t, mistake=None):
    """The new q of one token, shape (K,): figure 3 with eqs. 18 to 21."""
    weight = (
        emission_term(problem, q, i, t, mistake)
        * incoming_term(problem, q, i, t, mistake)
        * outgoing_term(problem, q, i, t, mistake)
    )
    update = np.zeros(problem.n_states)
    for k in restatement.legal_states(problem, i, t):
        update[k] = weight[k]
    return update / update.sum()


def cvb_token_sweeps(problem, q, n_sweeps, mistake=None):
    """Algorithm 1. Mistakes to plant: "eq20", "eq20_printed", "swap", "no_subtraction"."""
    q, history = [marginals.copy() for marginals in q], []
    xi = [restatement.pair_products(marginals) for marginals in q]
    for _ in range(n_sweeps):
        for i, marginals in enumerate(q):
            for t in range(len(marginals)):
                if len(restatement.legal_states(problem, i, t)) > 1:
                    marginals[t] = token_update(problem, q, i, t, mistake)
        xi = [restatement.pair_products(marginals) for marginals in q]
        history.append(restatement.leave_one_out_score(problem, q, xi))
    return restatement.Result(q, xi, restatement.expected_counts(problem, q, xi), history)


def indicator_posteriors(problem, z):
    """Sampled states as 0/1 posteriors, so that actual counts are expected counts of these."""
    return [np.eye(problem.n_states)[list(states)] for states in z]


def gibbs_conditional(problem, z, i, t, temperature=1.0):
    """Figure 1: p(z_t | all other states), shape (K,), to the power 1 / temperature."""
    one_hot = indicator_posteriors(problem, z)
    weight = np.zeros(problem.n_states)
    for k in restatement.legal_states(problem, i, t):
        weight[k] = gibbs_weight(problem, one_hot, i, t, k) ** (1.0 / temperature)
    return weight / weight.sum()


def gibbs_weight(problem, one_hot, i, t, k):
    """The product of figure 1 for state k, from actual counts without token t."""
    states = [row.argmax() for row in one_hot[i]]
    last, n_states = len(states) - 1, problem.n_states
    symbol = problem.sequences[i][t]
    weight = 1.0
    if symbol is not None:
        emitted = emission_table(problem, one_hot, (i, t))
        weight *= emitted[k, symbol] + problem.beta[k, symbol]
        weight /= emitted[k].sum() + problem.beta[k].sum()
    moved = transition_table(problem, one_hot, {(i, t - 1), (i, t)})
    before = states[t - 1] if t > 0 else n_states
    weight *= moved[before, k] + problem.alpha[before, k]
    weight /= moved[before].sum() + problem.alpha[before].sum()
    if t < last:
        after = states[t + 1]
        weight *= moved[k, after] + problem.alpha[k, after] + (before == k == after)
        weight /= moved[k].sum() + problem.alpha[k].sum() + (before == k)
    return weight


def emission_table(problem, q, left_out):
    """Emission counts (K, W) without one token."""
    table = np.zeros((problem.n_states, problem.n_symbols))
    for i, sequence in enumerate(problem.sequences):
        for t, symbol in enumerate(sequence):
            if symbol is not None and (i, t) != left_out:
                table[:, symbol] += q[i][t]
    return table


def transition_table(problem, q, left_out):
    """Transition counts (K + 1, K), start row last; the pair (i, -1) is a sequence's start."""
    starts = [row[0] for i, row in enumerate(q) if (i, -1) not in left_out]
    start = sum(starts, np.zeros(problem.n_states))
    return np.vstack([pair_count(problem, q, left_out), start])
