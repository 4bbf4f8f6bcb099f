"""How close VB and CVB come to the exact posterior.

Small problems whose collapsed posterior can be enumerated are drawn from the model, with a
dictionary that tells the states apart. Every algorithm starts from the same posteriors, uniform
over a token's legal states with 5 % noise; its error is the mean L1 distance of its token marginals
from the exact ones, over ambiguous tokens.
"""

from typing import NamedTuple

import numpy as np

import sklearn_cvb
from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import (
    breaks_symmetry,
    drawn_problem,
    initial_posteriors,
    legal_states,
    n_assignments,
)
from benchmarks.published.second_order import sweeps
from benchmarks.published.tables import Table
from sklearn_cvb import Samples, Symbols, Transitions

CONCENTRATIONS = (0.1, 0.3, 1.0)
SHAPES = ([3] * 4, [3] * 6, [4] * 5, [2] * 8, [3] * 10, [1, 2, 3, 4, 3, 2])
SECOND_ORDER = "CVB token, order 2"
METHODS = {
    "VB": ("VB", {}),
    "CVB token": ("CVB", {"update": "token"}),
    # The package does not offer it: a restatement runs.
    SECOND_ORDER: ("CVB", {"update": "token"}),
    "CVB sequence": ("CVB", {"update": "sequence"}),
}
COLLAPSED = ("CVB token", "CVB sequence")
GIBBS = "Gibbs, 20,000 sweeps"
COMMON = "nearly uniform"
EXACT = "exact marginals"
RESTARTS = "8 random, best score"
OTHER_STARTS = {
    "1 random": {"init": "token"},
    RESTARTS: {"init": "token", "n_init": 8},
    EXACT: {},
}
# Posteriors that change less than this in a sweep will not show in any figure.
_STILL = 1e-9
_COLOURS = ("#0072b2", "#e69f00", "#cc3311")
_MARKERS = "o^s"


class Run(NamedTuple):
    """Posteriors of the training tokens after a fit, and its objective."""

    posteriors: list
    objective: float


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


def tagger(prefix, problem, **settings):
    """An unfitted tagger with the problem's dictionary and priors."""
    alpha = float(problem.alpha[0, 0])
    known = {symbol: [f"t{k}" for k in states] for symbol, states in problem.dictionary.items()}
    usual = {
        "tag_dictionary": known,
        "alpha": alpha,
        "transitions": Transitions(start_alpha=alpha),
        "beta": float(problem.beta[0, 0]),
        "emission": Symbols(vocabulary=range(problem.n_symbols), handle_unknown="error"),
        "n_init": 1,
        "random_state": 0,
    }
    return getattr(sklearn_cvb, f"{prefix}HMMTagger")(**usual | settings)


def second_order(problem, q, n_sweeps):
    """Posteriors after this many sweeps of the second-order update, or once they stand still."""
    for _ in range(n_sweeps):
        before, q = q, sweeps(problem, q, 1)
        if max(np.abs(one - other).max() for one, other in zip(before, q, strict=True)) < _STILL:
            break
    return q


def fitted(problem, name, n_sweeps=200, **settings):
    """A method after exactly this many sweeps."""
    if name == SECOND_ORDER:
        return Run(second_order(problem, settings["init"], n_sweeps), np.nan)
    prefix, keywords = METHODS[name]
    settings = {"max_iter": n_sweeps, "tol": 0, "warm_start": True} | keywords | settings
    model = tagger(prefix, problem, **settings).fit(problem.sequences)
    return Run(model.training_posteriors(), model.objective_)


def sampled(problem, n_sweeps=20_000):
    """Marginals of the samples of a long Gibbs run, the first half left out."""
    model = tagger("Gibbs", problem, samples=Samples(thin=1), max_iter=n_sweeps)
    samples = model.fit(problem.sequences).samples_
    shares = np.stack([(samples == k).mean(axis=0) for k in range(problem.n_states)], axis=1)
    return np.split(shares, np.cumsum([len(row) for row in problem.sequences])[:-1])


def confidence(problem, posteriors):
    """Mean over ambiguous tokens of the largest marginal."""
    return np.mean(
        [
            posteriors[i][t].max()
            for i, sequence in enumerate(problem.sequences)
            for t in range(len(sequence))
            if len(legal_states(problem, i, t)) > 1
        ]
    )


def compared(problem, with_gibbs=False, seed=0):
    """All methods on one problem from one start, the collapsed ones from others too.

    Returns the problem's sizes and concentrations; ``errors`` and ``objectives`` by method and
    start; ``sure``, the mean of the largest marginal; ``apart``, the distance of the collapsed
    methods from VB.
    """
    exact = brute.collapsed_posterior(problem).marginals
    common = initial_posteriors(np.random.default_rng(seed), problem, noise=0.05)
    runs = {name: {COMMON: fitted(problem, name, init=common)} for name in METHODS}
    for name in COLLAPSED:
        for start, settings in OTHER_STARTS.items():
            runs[name][start] = fitted(problem, name, **{"init": exact} | settings)
    if with_gibbs:
        runs[GIBBS] = {COMMON: Run(sampled(problem), np.nan)}
    found = {name: own[COMMON].posteriors for name, own in runs.items()}
    return {
        "n_states": problem.n_states,
        "lengths": [len(row) for row in problem.sequences],
        "alpha": float(problem.alpha[0, 0]),
        "beta": float(problem.beta[0, 0]),
        "errors": {
            name: {
                start: mean_distance(problem, run.posteriors, exact) for start, run in own.items()
            }
            for name, own in runs.items()
        },
        "objectives": {
            name: {start: one.objective for start, one in runs[name].items()} for name in COLLAPSED
        },
        "sure": {
            name: float(confidence(problem, q)) for name, q in ({"exact": exact} | found).items()
        },
        "apart": {name: mean_distance(problem, found[name], found["VB"]) for name in COLLAPSED},
    }


def run(settings):
    """Compare on 216 problems, with Gibbs on every fifth (quick: 9, without)."""
    problems = quality_problems(9 if settings.quick else 216)
    return {
        "problems": [
            compared(problem, with_gibbs=not settings.quick and turn % 5 == 0)
            for turn, problem in enumerate(problems)
        ]
    }


def error(one, name, start=COMMON):
    """Mean L1 error of a method on a problem."""
    return one["errors"][name][start]


def losses_of(problems):
    """(problem, method) where a collapsed method is no closer than VB."""
    return [
        (one, name)
        for one in problems
        for name in COLLAPSED
        if error(one, name) >= error(one, "VB")
    ]


def kind_of(one, name):
    """What went wrong in a loss.

    "none": from the exact marginals too the method ends no closer than VB. Else it has a better
    fixed point and is in a "wrong mode", or in one "shared" with VB: the two are closer to each
    other than either is to the exact marginals.
    """
    plain = error(one, "VB")
    if error(one, name, EXACT) >= plain:
        return "none"
    return "shared" if one["apart"][name] < min(plain, error(one, name)) else "wrong mode"


def by_alpha(problems):
    """(label, problems) for each alpha and for all."""
    groups = [(str(a), [one for one in problems if one["alpha"] == a]) for a in CONCENTRATIONS]
    return [*groups, ("all", problems)]


def error_table(problems):
    """Mean error of each method, and the share of problems where it is closer than VB."""
    rows = []
    for label, group in by_alpha(problems):
        errors = {name: np.array([error(one, name) for one in group]) for name in METHODS}
        cells = [f"{errors['VB'].mean():.3f}"]
        for name in list(METHODS)[1:]:
            wins = np.mean(errors[name] < errors["VB"])
            cells.append(f"{errors[name].mean():.3f} ({wins:.0%})")
        rows.append([label, len(group), *cells])
    title = "Mean L1 error; in brackets the share of problems where the method is closer than VB"
    return Table(["alpha", "problems", *METHODS], rows, title)


def confidence_table(problems):
    """Mean confidence of the exact marginals and of each method."""
    names = ("exact", *METHODS)
    rows = [
        [label, *(f"{np.mean([one['sure'][name] for one in group]):.3f}" for name in names)]
        for label, group in by_alpha(problems)
    ]
    return Table(["alpha", *names], rows, "Mean of the largest marginal of a token")


def gibbs_table(problems):
    """Mean errors where Gibbs was run as well."""
    group = [one for one in problems if GIBBS in one["errors"]]
    rows = [
        [name, f"{np.mean([error(one, name) for one in group]):.3f}"]
        for name in (*METHODS, GIBBS)
        if group
    ]
    return Table(["method", "mean error"], rows, f"Mean L1 error on {len(group)} problems")


def start_table(problems):
    """Mean errors of the collapsed methods by start."""
    rows = [
        [
            start,
            *(
                f"{np.mean([error(one, name, start) for one in problems]):.3f}"
                for name in COLLAPSED
            ),
        ]
        for start in (COMMON, *OTHER_STARTS)
    ]
    return Table(["start", *COLLAPSED], rows, "Mean L1 error by start")


def loss_table(losses):
    """Every loss: the problem, the errors, and those of restarts and of the exact start."""
    rows = [
        [
            one["n_states"],
            " ".join(map(str, one["lengths"])),
            one["alpha"],
            one["beta"],
            f"{one['sure']['exact']:.2f}",
            name.removeprefix("CVB "),
            f"{error(one, 'VB'):.3f}",
            *(f"{error(one, name, start):.3f}" for start in (COMMON, RESTARTS, EXACT)),
            kind_of(one, name),
        ]
        for one, name in losses
    ]
    header = ["K", "lengths", "alpha", "beta", "sure", "update", "VB", "CVB", "8 starts", "exact"]
    return Table([*header, "kind"], rows, "Problems where VB is closer")


def ranking_table(losses):
    """In how many of the losses with a better fixed point the score prefers that one."""
    better = [one["objectives"][name] for one, name in losses if kind_of(one, name) != "none"]
    n_found = sum(scores[EXACT] > scores[COMMON] for scores in better)
    title = "Losses with a better fixed point, and in how many the leave-one-out score prefers it"
    return Table(["losses", "preferred"], [[len(better), n_found]], title)


def tables(results):
    """The tables by name."""
    problems = results["problems"]
    losses = losses_of(problems)
    return {
        "errors": error_table(problems),
        "gibbs": gibbs_table(problems),
        "sure": confidence_table(problems),
        "starts": start_table(problems),
        "losses": loss_table(losses),
        "ranking": ranking_table(losses),
    }


def draw(results, folder):
    """VB's error against that of each collapsed method, one point a problem."""
    from matplotlib.figure import Figure

    problems = results["problems"]
    figure = Figure(figsize=(9.6, 5.2), layout="compressed")
    panels = figure.subplots(1, len(COLLAPSED), sharex=True, sharey=True)
    limit = 1.05 * max(error(one, name) for one in problems for name in ("VB", *COLLAPSED))
    for panel, name in zip(panels, COLLAPSED, strict=True):
        panel.plot([0, limit], [0, limit], color="0.4", linewidth=0.9, linestyle="--")
        for (label, group), colour, marker in zip(
            by_alpha(problems), _COLOURS, _MARKERS, strict=False
        ):
            plain = [error(one, "VB") for one in group]
            panel.scatter(
                plain,
                [error(one, name) for one in group],
                s=22,
                color=colour,
                marker=marker,
                alpha=0.65,
                linewidths=0,
                label=f"alpha = {label}",
            )
        wins = np.mean([error(one, name) < error(one, "VB") for one in problems])
        panel.set_title(f"{name}: closer than VB in {wins:.0%} of {len(problems)}")
        panel.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
        panel.set_xlabel("L1 error of VB")
        panel.grid(alpha=0.25)
    panels[0].set_ylabel("L1 error of CVB")
    panels[0].legend(loc="upper left", frameon=False)
    figure.savefig(folder / "marginals_scatter.png", dpi=130)
