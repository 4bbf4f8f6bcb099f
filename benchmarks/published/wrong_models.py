"""How many states criteria choose where no hidden Markov model is right.

After Pohle, Langrock, van Beest and Schmidt (2017), "Selecting the number of states in hidden
Markov models: pragmatic solutions illustrated using animal movement", Journal of Agricultural,
Biological and Environmental Statistics 22. All data have two states. Normal emissions and states
that are left by chance are what every fit assumes; but for the first kind of data, one of these is
not so: times in a state are not geometric (semi-Markov), emissions have heavy tails, one step of a
hundred is anything, or the mean of a state drifts.
"""

from collections import Counter
from functools import partial

import numpy as np

from benchmarks.published.tables import Table
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, Transitions
from sklearn_cvb.selection import integrated_likelihood

MEANS = np.array([0.0, 3.0])
N_SERIES, LENGTH, STAY = 4, 500, 0.95
NUMBERS = (1, 2, 3, 4, 5, 6)
# This many states are at hand where the number is learned.
AT_HAND = 8
TITLES = {
    "right": "none: a hidden Markov model",
    "semi-Markov": "times in a state",
    "student": "tails (Student's t, 3 degrees of freedom)",
    "outliers": "1 % outliers",
    "drift": "a mean that drifts",
}
CRITERIA = {
    "AIC": "EM: AIC",
    "BIC": "EM: BIC",
    "ICL": "EM: ICL",
    "bound": "VB: lower bound",
    "joined": "VB: states that are used, of 8 (hdp)",
    "leave-one-out": "CVB: leave-one-out score",
    "held out": "CVB: new series",
}


def states(kind, rng):
    """A path of two states: geometric times, or Poisson ones of the same mean."""
    times = rng.geometric(1.0 - STAY, LENGTH)
    if kind == "semi-Markov":
        times = 1 + rng.poisson(STAY / (1.0 - STAY), LENGTH)
    return np.repeat((rng.integers(2) + np.arange(LENGTH)) % 2, times)[:LENGTH]


def series(kind, rng):
    """One series."""
    path = states(kind, rng)
    noise = rng.standard_t(3, LENGTH) if kind == "student" else rng.normal(size=LENGTH)
    x = MEANS[path] + noise
    if kind == "outliers":
        x = np.where(rng.random(LENGTH) < 0.01, rng.uniform(-15.0, 18.0, LENGTH), x)
    if kind == "drift":
        x += np.where(path == 1, 1.5 * np.sin(2 * np.pi * np.arange(LENGTH) / LENGTH), 0.0)
    return x


def choices(kind, seed):
    """The number of states that each criterion chooses for one set of data."""
    rng = np.random.default_rng(seed)
    X, new = ([series(kind, rng) for _ in range(N_SERIES)] for _ in range(2))
    found = {name: [] for name in CRITERIA if name != "joined"}
    given = {"emission": "gaussian", "n_init": 3, "random_state": seed}
    for n in NUMBERS:
        em, vb, cvb = (kind_of(n, **given).fit(X) for kind_of in (EMHMM, VBHMM, CVBHMM))
        found["AIC"].append(-em.aic(X))
        found["BIC"].append(-em.bic(X))
        found["ICL"].append(-integrated_likelihood(em, X))
        found["bound"].append(vb.lower_bound_)
        found["leave-one-out"].append(cvb.loo_score_)
        found["held out"].append(cvb.score(new))
    chosen = {name: NUMBERS[int(np.argmax(values))] for name, values in found.items()}
    learned = VBHMM(AT_HAND, transitions=Transitions(prior="hdp"), **given).fit(X)
    held_out = np.array(found["held out"])
    return chosen | {
        "joined": int(learned.n_effective_components_),
        # What two states lose by not being more (nats per step).
        "lost": float(held_out.max() - held_out[NUMBERS.index(2)]),
    }


def part(kind, settings):
    """The choices for all data sets of a kind."""
    n = settings.replications or (1 if settings.quick else 20)
    return {"choices": [choices(kind, seed) for seed in range(n)]}


PARTS = {kind: partial(part, kind) for kind in TITLES}


def tables(results):
    """How often each number is chosen, per cent."""
    header = ["what is wrong", "criterion", *map(str, NUMBERS), "7 or 8"]
    rows = []
    for kind in (kind for kind in TITLES if kind in results):
        found = results[kind]["choices"]
        for i, (name, title) in enumerate(CRITERIA.items()):
            times = Counter(min(one[name], 7) for one in found)
            shares = [f"{100 * times[n] / len(found):.0f}" if times[n] else "" for n in range(1, 8)]
            rows.append(["" if i else TITLES[kind], title, *shares])
    title = (
        "How often each number of states is chosen where two are true, per cent of the data sets"
    )
    lost = [
        [TITLES[kind], f"{np.mean([one['lost'] for one in results[kind]['choices']]):.3f}"]
        for kind in TITLES
        if kind in results
    ]
    return {
        "choices": Table(header, rows, title),
        "lost": Table(
            ["what is wrong", "nats per step"],
            lost,
            "What two states lose on new series to the number that predicts best (CVB)",
        ),
    }


def draw(results, folder):
    """Nothing: the table is the picture."""
