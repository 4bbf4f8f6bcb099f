"""Wang and Blunsom (2013), figures 2 and 4: the exact mean-field updates, by enumeration.

Both CVB updates approximate a coordinate ascent on the collapsed bound E_q[log p(x, z)] + H(q),
with q a product over tokens (figure 2) or over sequences (figure 4). On problems small enough to
enumerate the exact ascent is run beside them, from the same start.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import entr, softmax

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import initial_posteriors, token_states
from benchmarks.published import marginals as first_order
from benchmarks.published.marginals import CONCENTRATIONS, mean_distance, quality_problems
from benchmarks.published.tables import Table

TOKEN, SEQUENCE = "exact, token", "exact, sequence"
ORDER = ("VB", "CVB token", "CVB token, order 2", TOKEN, "CVB sequence", SEQUENCE)
# What each first-order update approximates.
PAIRS = {"CVB token": TOKEN, "CVB token, order 2": TOKEN, "CVB sequence": SEQUENCE}
_MOST_SWEEPS, _CALM = 500, 1e-10


class Ascent(NamedTuple):
    """A product distribution and its bound after every sweep (nats)."""

    factors: list
    bounds: list


def expected(table, factors, axis):
    """Expectation of a table over all factors but one: a vector over that one's values."""
    for other in reversed(range(table.ndim)):
        if other != axis:
            table = np.tensordot(table, factors[other], ([other], [0]))
    return table


def bound(log_joint, factors):
    """The collapsed bound: expected log joint plus entropy."""
    inner = expected(log_joint, factors, 0) @ factors[0]
    return float(inner + sum(entr(factor).sum() for factor in factors))


def ascend(log_joint, factors):
    """Exact mean-field coordinate ascent.

    `log_joint`: log p(x, z) of every assignment, one axis for each factor.
    """
    factors = list(factors)
    bounds = [bound(log_joint, factors)]
    for _ in range(_MOST_SWEEPS):
        for axis in range(len(factors)):
            factors[axis] = softmax(expected(log_joint, factors, axis))
        bounds.append(bound(log_joint, factors))
        if bounds[-1] - bounds[-2] < _CALM:
            break
    return Ascent(factors, bounds)


def token_factors(problem, posteriors):
    """Posteriors of all tokens over their legal states."""
    rows = (row for table in posteriors for row in table)
    return [row[legal] for row, legal in zip(rows, token_states(problem), strict=True)]


def sequence_factors(problem, posteriors):
    """Products of the tokens' posteriors: one vector over the paths of each sequence."""
    factors, rows = [], iter(token_factors(problem, posteriors))
    for sequence in problem.sequences:
        factor = np.ones(1)
        for _ in sequence:
            factor = np.multiply.outer(factor, next(rows)).ravel()
        factors.append(factor)
    return factors


def marginals_of(problem, factors, by_sequence):
    """Token marginals of a product distribution, shape (length, n_states) a sequence."""
    states, tables = iter(token_states(problem)), []
    parts = iter(factors)
    for sequence in problem.sequences:
        legal = [next(states) for _ in sequence]
        table = np.zeros((len(sequence), problem.n_states))
        joint = next(parts).reshape([len(here) for here in legal]) if by_sequence else None
        for t, here in enumerate(legal):
            others = tuple(other for other in range(len(legal)) if other != t)
            table[t, here] = joint.sum(axis=others) if by_sequence else next(parts)
        tables.append(table)
    return tables


def compared(problem, seed=0):
    """Errors, bounds and distances of all methods on one problem, from one start.

    Returns ``alpha``; ``errors``, the mean L1 distance to the exact marginals by method; ``apart``,
    that of each first-order update to the exact ascent; ``sure``, the mean of the largest marginal;
    ``gaps``, log evidence minus bound.
    """
    exact = brute.collapsed_posterior(problem)
    log_joint = brute.collapsed_log_joint(problem, brute.joint_assignments(problem))
    common = initial_posteriors(np.random.default_rng(seed), problem, noise=0.05)
    runs = {name: first_order.fitted(problem, name, init=common) for name in first_order.METHODS}
    found = {name: run.posteriors for name, run in runs.items()}
    # Tokens with one legal state add nothing, and arrays have at most 64 axes.
    open_tokens = [factor for factor in token_factors(problem, common) if len(factor) > 1]
    by_token = ascend(log_joint.reshape([len(factor) for factor in open_tokens]), open_tokens)
    everywhere = iter(by_token.factors)
    factors = [next(everywhere) if len(s) > 1 else np.ones(1) for s in token_states(problem)]
    found[TOKEN] = marginals_of(problem, factors, False)
    paths = sequence_factors(problem, common)
    by_sequence = ascend(log_joint.reshape([len(factor) for factor in paths]), paths)
    found[SEQUENCE] = marginals_of(problem, by_sequence.factors, True)
    return {
        "alpha": float(problem.alpha[0, 0]),
        "errors": {name: mean_distance(problem, found[name], exact.marginals) for name in ORDER},
        "apart": {
            one: mean_distance(problem, found[one], found[other]) for one, other in PAIRS.items()
        },
        "sure": {
            name: float(first_order.confidence(problem, tables))
            for name, tables in ({"posterior": exact.marginals} | found).items()
        },
        "gaps": {
            "VB": exact.log_evidence - runs["VB"].objective,
            TOKEN: exact.log_evidence - by_token.bounds[-1],
            SEQUENCE: exact.log_evidence - by_sequence.bounds[-1],
        },
    }


def run(settings):
    """Compare on 216 problems (quick: 36)."""
    problems = quality_problems(36 if settings.quick else 216)
    return {"problems": [compared(problem) for problem in problems]}


def _groups(results):
    """(label, problems) for each alpha and for all."""
    every = results["problems"]
    groups = [(str(a), [one for one in every if one["alpha"] == a]) for a in CONCENTRATIONS]
    return [*groups, ("all", every)]


def mean_of(problems, what, name):
    """Mean of a figure over problems."""
    return float(np.mean([one[what][name] for one in problems]))


def tables(results):
    """Errors, distances and gaps by alpha."""
    groups = _groups(results)

    def table(what, names, title, digits=3):
        lines = [
            [label, len(group), *(f"{mean_of(group, what, name):.{digits}f}" for name in names)]
            for label, group in groups
        ]
        return Table(["alpha", "problems", *names], lines, title)

    bounds = ("VB", TOKEN, SEQUENCE)
    return {
        "errors": table("errors", ORDER, "Mean L1 error of the token marginals"),
        "apart": table("apart", PAIRS, "Mean L1 distance to the exact ascent that is approximated"),
        "sure": table("sure", ("posterior", *ORDER), "Mean of the largest marginal of a token"),
        "gaps": table("gaps", bounds, "Log evidence minus bound, nats a problem", 2),
    }


def draw(results, folder):
    """Error of the exact ascent against that of the first-order update, one point a problem."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="compressed")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    limit = 1.05 * max(max(one["errors"].values()) for one in results["problems"])
    for panel, name in zip(panels, ("CVB token", "CVB sequence"), strict=True):
        panel.plot([0, limit], [0, limit], color="0.4", linewidth=0.9, linestyle="--")
        for (label, group), marker in zip(_groups(results)[:-1], "o^s", strict=True):
            x = [one["errors"][PAIRS[name]] for one in group]
            y = [one["errors"][name] for one in group]
            panel.scatter(x, y, s=22, marker=marker, alpha=0.65, lw=0, label=f"alpha = {label}")
        panel.set(xlim=(0, limit), ylim=(0, limit), aspect="equal", title=name)
        panel.set_xlabel("L1 error of the exact mean-field ascent")
        panel.grid(alpha=0.25)
    panels[0].set_ylabel("L1 error of the first-order update")
    panels[0].legend(loc="upper left", frameon=False)
    figure.savefig(folder / "mean_field_errors.png", dpi=110)
