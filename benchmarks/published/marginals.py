"""How close VB and CVB come to the exact posterior: ``python -m benchmarks.published.marginals``.

Small problems whose collapsed posterior can be enumerated are drawn from the model, with a
dictionary that tells the states apart. Every algorithm starts from the same posteriors, uniform
over a token's legal states with 5 % noise; its error is the mean L1 distance of its token marginals
from the exact ones, over ambiguous tokens. Needs a checkout of the repository: the enumeration and
the problems are those of its tests.
"""

import argparse
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))

import brute
from chain.marginal_errors import CONCENTRATIONS, mean_distance, quality_problems
from estimators import make_estimator
from problems import initial_posteriors, legal_states

from benchmarks.published.second_order import sweeps
from benchmarks.published.tables import Table, as_text, comma_separated
from sklearn_cvb import Samples

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


class Answer(NamedTuple):
    """A problem, its exact marginals, and runs by (method, start); Gibbs has one start."""

    problem: NamedTuple
    exact: list
    runs: dict

    def posteriors(self, name, start=COMMON):
        """What a method says of every token."""
        return self.runs[name, start].posteriors

    def error(self, name, start=COMMON):
        """Mean L1 error of a method."""
        return mean_distance(self.problem, self.posteriors(name, start), self.exact)


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
    model = make_estimator(prefix, problem, **settings).fit(problem.sequences)
    return Run(model.training_posteriors(), model.objective_)


def sampled(problem, n_sweeps=20_000):
    """Marginals of the samples of a long Gibbs run, the first half left out."""
    model = make_estimator("Gibbs", problem, samples=Samples(thin=1), max_iter=n_sweeps)
    samples = model.fit(problem.sequences).samples_
    shares = np.stack([(samples == k).mean(axis=0) for k in range(problem.n_states)], axis=1)
    return np.split(shares, np.cumsum([len(row) for row in problem.sequences])[:-1])


def answer_of(problem, seed=0):
    """Fit all methods from one start, and the collapsed ones from others too."""
    exact = brute.collapsed_posterior(problem).marginals
    common = initial_posteriors(np.random.default_rng(seed), problem, noise=0.05)
    runs = {(name, COMMON): fitted(problem, name, init=common) for name in METHODS}
    for name in COLLAPSED:
        for start, settings in OTHER_STARTS.items():
            runs[name, start] = fitted(problem, name, **{"init": exact} | settings)
    return Answer(problem, exact, runs)


def losses_of(answers):
    """(answer, method) where a collapsed method is no closer than VB."""
    return [(a, name) for a in answers for name in COLLAPSED if a.error(name) >= a.error("VB")]


def kind_of(answer, name):
    """What went wrong in a loss.

    "none": from the exact marginals too the method ends no closer than VB. Else it has a better
    fixed point and is in a "wrong mode", or in one "shared" with VB: the two are closer to each
    other than either is to the exact marginals.
    """
    plain = answer.error("VB")
    if answer.error(name, EXACT) >= plain:
        return "none"
    apart = mean_distance(answer.problem, answer.posteriors(name), answer.posteriors("VB"))
    return "shared" if apart < min(plain, answer.error(name)) else "wrong mode"


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


def alpha_of(answer):
    """The concentration of the transitions of a problem."""
    return float(answer.problem.alpha[0, 0])


def by_alpha(answers):
    """(label, answers) for each alpha and for all."""
    groups = [
        (str(alpha), [a for a in answers if alpha_of(a) == alpha]) for alpha in CONCENTRATIONS
    ]
    return [*groups, ("all", answers)]


def error_table(answers):
    """Mean error of each method, and the share of problems where it is closer than VB."""
    rows = []
    for label, group in by_alpha(answers):
        errors = {name: np.array([a.error(name) for a in group]) for name in METHODS}
        cells = [f"{errors['VB'].mean():.3f}"]
        for name in list(METHODS)[1:]:
            wins = np.mean(errors[name] < errors["VB"])
            cells.append(f"{errors[name].mean():.3f} ({wins:.0%})")
        rows.append([label, len(group), *cells])
    title = "Mean L1 error; in brackets the share of problems where the method is closer than VB"
    return Table(["alpha", "problems", *METHODS], rows, title)


def confidence_table(answers):
    """Mean confidence of the exact marginals and of each method."""
    rows = [
        [
            label,
            f"{np.mean([confidence(a.problem, a.exact) for a in group]):.3f}",
            *(
                f"{np.mean([confidence(a.problem, a.posteriors(name)) for a in group]):.3f}"
                for name in METHODS
            ),
        ]
        for label, group in by_alpha(answers)
    ]
    return Table(["alpha", "exact", *METHODS], rows, "Mean of the largest marginal of a token")


def gibbs_table(answers):
    """Mean errors where Gibbs was run as well."""
    rows = [
        [name, f"{np.mean([a.error(name) for a in answers]):.3f}"] for name in [*METHODS, GIBBS]
    ]
    return Table(["method", "mean error"], rows, f"Mean L1 error on {len(answers)} problems")


def start_table(answers):
    """Mean errors of the collapsed methods by start."""
    rows = [
        [start, *(f"{np.mean([a.error(name, start) for a in answers]):.3f}" for name in COLLAPSED)]
        for start in (COMMON, *OTHER_STARTS)
    ]
    return Table(["start", *COLLAPSED], rows, "Mean L1 error by start")


def loss_table(losses):
    """Every loss: the problem, the errors, and those of restarts and of the exact start."""
    rows = [
        [
            answer.problem.n_states,
            " ".join(str(len(row)) for row in answer.problem.sequences),
            alpha_of(answer),
            float(answer.problem.beta[0, 0]),
            f"{confidence(answer.problem, answer.exact):.2f}",
            name.removeprefix("CVB "),
            f"{answer.error('VB'):.3f}",
            *(f"{answer.error(name, start):.3f}" for start in (COMMON, RESTARTS, EXACT)),
            kind_of(answer, name),
        ]
        for answer, name in losses
    ]
    header = ["K", "lengths", "alpha", "beta", "sure", "update", "VB", "CVB", "8 starts", "exact"]
    return Table([*header, "kind"], rows, "Problems where VB is closer")


def ranking(losses):
    """In how many of the losses with a better fixed point the score prefers that one."""
    better = [(a, name) for a, name in losses if kind_of(a, name) != "none"]
    found = sum(
        a.runs[name, EXACT].objective > a.runs[name, COMMON].objective for a, name in better
    )
    return f"The leave-one-out score prefers the better fixed point in {found} of {len(better)}."


def draw_scatter(answers, path):
    """VB's error against that of each collapsed method, one point a problem."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="compressed")
    panels = figure.subplots(1, len(COLLAPSED), sharex=True, sharey=True)
    limit = 1.05 * max(a.error(name) for a in answers for name in ("VB", *COLLAPSED))
    for panel, name in zip(panels, COLLAPSED, strict=True):
        panel.plot([0, limit], [0, limit], color="0.4", linewidth=0.9, linestyle="--")
        for (label, group), colour, marker in zip(
            by_alpha(answers), _COLOURS, _MARKERS, strict=False
        ):
            plain = [a.error("VB") for a in group]
            panel.scatter(
                plain,
                [a.error(name) for a in group],
                s=22,
                color=colour,
                marker=marker,
                alpha=0.65,
                linewidths=0,
                label=f"alpha = {label}",
            )
        wins = np.mean([a.error(name) < a.error("VB") for a in answers])
        panel.set_title(f"{name}: closer than VB in {wins:.0%} of {len(answers)}")
        panel.set(xlim=(0, limit), ylim=(0, limit), aspect="equal")
        panel.set_xlabel("L1 error of VB")
        panel.grid(alpha=0.25)
    panels[0].set_ylabel("L1 error of CVB")
    panels[0].legend(loc="upper left", frameon=False)
    figure.savefig(path, dpi=130)


def tables_of(answers, with_gibbs):
    """The tables by name; Gibbs runs on every fifth problem."""
    losses = losses_of(answers)
    found = {
        "errors": error_table(answers),
        "sure": confidence_table(answers),
        "starts": start_table(answers),
        "losses": loss_table(losses),
    }
    if with_gibbs:
        subset = answers[::5]
        for answer in subset:
            answer.runs[GIBBS, COMMON] = Run(sampled(answer.problem), np.nan)
        found["gibbs"] = gibbs_table(subset)
    return found


def main(arguments=None):
    """Run the comparison; returns 0."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published.marginals", description=__doc__
    )
    parser.add_argument("--doc", type=Path, required=True, help="gets tables and images: doc")
    parser.add_argument("--quick", action="store_true", help="36 problems, no Gibbs")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        answers = [answer_of(problem) for problem in quality_problems(36 if options.quick else 216)]
        found = tables_of(answers, not options.quick)
    print(as_text(found), ranking(losses_of(answers)), sep="\n")
    for name in ("tables", "images"):
        (options.doc / name).mkdir(parents=True, exist_ok=True)
    for name, table in found.items():
        path = options.doc / "tables" / f"marginals_{name}.csv"
        path.write_text(comma_separated(table), encoding="utf-8")
    draw_scatter(answers, options.doc / "images" / "marginals_scatter.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
