"""How far the token marginals of each algorithm are from the exact collapsed posterior."""

import brute
import numpy as np
from estimators import make_estimator
from problems import (
    breaks_symmetry,
    drawn_problem,
    initial_posteriors,
    legal_states,
    n_assignments,
)

ALGORITHMS = {
    "VB": ("VB", {}),
    "CVB token": ("CVB", {"update": "token"}),
    "CVB sequence": ("CVB", {"update": "sequence"}),
}
CONCENTRATIONS = (0.1, 0.3, 1.0)
SHAPES = ([3] * 4, [3] * 6, [4] * 5, [2] * 8, [3] * 10, [1, 2, 3, 4, 3, 2])


def quality_problems(n_problems, seed=0, most_assignments=2**13):
    """Problems drawn from the model, all settings in turn, whose dictionary fixes the states.

    Those with fewer than 16 joint assignments leave nothing to infer and are drawn again.
    """
    rng, problems = np.random.default_rng(seed), []
    settings = [(a, b) for a in CONCENTRATIONS for b in CONCENTRATIONS]
    while len(problems) < n_problems:
        turn = len(problems)
        n_states = 2 + turn % 2
        shape = SHAPES[turn % len(SHAPES)]
        problem = drawn_problem(rng, n_states, 2 * n_states, shape, settings[turn % len(settings)])
        if breaks_symmetry(problem) and 16 <= n_assignments(problem) <= most_assignments:
            problems.append(problem)
    return problems


def mean_distance(problem, q, exact):
    """Mean L1 distance of the marginals over the ambiguous tokens."""
    distances = [
        np.abs(q[i][t] - exact[i][t]).sum()
        for i, sequence in enumerate(problem.sequences)
        for t in range(len(sequence))
        if len(legal_states(problem, i, t)) > 1
    ]
    return float(np.mean(distances))


def marginal_errors(problem, seed=0, max_iter=200):
    """The mean L1 error of each algorithm from one start, as a dict.

    The start is uniform over the legal states with 5 % noise, the same for all.
    """
    exact = brute.collapsed_posterior(problem).marginals
    start = initial_posteriors(np.random.default_rng(seed), problem, noise=0.05)
    # warm_start keeps the state that training_posteriors reads.
    settings = {"init": start, "max_iter": max_iter, "tol": 0, "warm_start": True}
    errors = {}
    for name, (prefix, keywords) in ALGORITHMS.items():
        estimator = make_estimator(prefix, problem, **settings | keywords)
        q = estimator.fit(problem.sequences).training_posteriors()
        errors[name] = mean_distance(problem, q, exact)
    return errors
