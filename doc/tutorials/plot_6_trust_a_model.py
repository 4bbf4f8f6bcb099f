"""
Trust a model
=============

A fit always ends, and always gives numbers. In this tutorial you ask whether to believe them: has
it converged, would another start say the same, how wide are the intervals, does a sampler agree,
and would the model draw data like yours?
"""

# %%
# The data: 60 sequences from a known model with three states. In your own work nothing below needs
# the truth.

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np

from sklearn_cvb.datasets import make_hmm_sequences

X, Z, startprob, transmat, emissionprob = make_hmm_sequences(
    60, n_components=3, n_symbols=9, length=20, return_parameters=True, random_state=3
)

# %%
# Has it converged?
# -----------------
#
# ``converged_`` says whether the last sweep brought less than ``tol``. ``history_`` has all of
# them.

from sklearn_cvb import VBHMM
from sklearn_cvb.plotting import plot_restarts

settings = {"alpha": 1.0, "beta": 1.0, "random_state": 0}
model = VBHMM(3, n_init=10, max_iter=500, **settings).fit(X)
print(f"converged: {model.converged_}, after {model.n_iter_} sweeps")

# %%
# Does it learn, or learn by heart?
# ---------------------------------
#
# A curve of held-out likelihood tells, sweep by sweep. scikit-learn's ``ScoringMonitor`` takes it
# down with any algorithm: it calls what it is given after each sweep, and wants a ``y``, which
# nothing here reads.

from sklearn.callback import ScoringMonitor

from sklearn_cvb import CVBHMM, EMHMM, GibbsHMM
from sklearn_cvb.plotting import algorithm_colours

train, test = X[:30], X[30:]


def held_out(model, *_):
    return model.score(test)


curves = {}
for name, kind in {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM, "Gibbs": GibbsHMM}.items():
    monitor = ScoringMonitor(scoring={"held out": held_out})
    learner = kind(3, max_iter=40, random_state=1)
    if name != "Gibbs":
        learner.set_params(tol=0)  # all sweeps, converged or not
    learner.set_callbacks(monitor).fit(train, [0] * len(train))
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "sweep"]
    curves[name] = [row["held out"] for row in rows]
    print(f"{name:5} best {max(curves[name]):.3f}, last {curves[name][-1]:.3f} nats a step")

figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for (name, curve), colour in zip(curves.items(), algorithm_colours(curves), strict=True):
    ax.plot(range(1, 41), curve, color=colour, label=name)
ax.set(xlabel="sweep", ylabel="nats a step, held out", ylim=(-2.3, None))
ax.legend(frameon=False)

# %%
# The curves of EM and VB come down again: from there on they learn by heart. That of CVB, which
# leaves out what it infers, still rises: raise ``max_iter`` where you see this.

# %%
# Would another start say the same?
# ---------------------------------
#
# Ten restarts, ranked by their bound. If most of them end at the same height, the best one is no
# accident.

ax = plot_restarts(model)
print(np.sort(model.restart_objectives_)[::-1].round(1))

# %%
# Do two fits agree on the states? Their names are accidents.
# :func:`~sklearn_cvb.metrics.match_states` pairs them first.

from sklearn_cvb.metrics import match_states, one_to_one_accuracy, relabel

other = VBHMM(3, n_init=10, max_iter=500, alpha=1.0, beta=1.0, random_state=1).fit(X)
print("pairs of states:", match_states(model.labels_, other.labels_))
print(f"the same state in {one_to_one_accuracy(model.labels_, other.labels_):.1%} of the steps")

# %%
# Does a sampler agree?
# ---------------------
#
# Gibbs sampling makes no approximation; it only takes long. Several chains tell whether they have
# arrived: an R-hat of 1.01 or less, and some hundred effective draws.
# A count that never changes has neither, and is left out.

sampler = GibbsHMM(3, n_init=4, max_iter=2000, update="parameter", **settings).fit(X)
for name, found in sampler.convergence().items():
    size = found.effective_sample_size
    if size > 0:
        print(f"{name:12} R-hat {found.r_hat:.3f}, effective sample size {size:.0f}")

# %%
# How wide are the intervals?
# ---------------------------
#
# ``credible_intervals`` gives both ends for each probability. States are named alike first. Those
# of VB's posterior are too narrow: it takes states and parameters to be independent. Given the data
# they are calibrated, and nearer to those of the sampler (:doc:`/uncertainty`).

vb = relabel(model, match_states(Z, model.labels_))
gibbs = relabel(sampler, match_states(Z, sampler.labels_))
intervals = {
    "VB, mean field": vb.credible_intervals(level=0.9, method="mean field"),
    "VB, calibrated": vb.credible_intervals(X, level=0.9, random_state=0),
    "Gibbs": gibbs.credible_intervals(level=0.9),
}
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
colours = algorithm_colours(intervals)
for shift, (name, found) in enumerate(intervals.items()):
    lower, upper = found.transition
    places = np.arange(9) + 0.2 * shift - 0.2
    ax.vlines(places, lower.ravel(), upper.ravel(), color=colours[shift], lw=3, label=name)
ax.plot(range(9), transmat.ravel(), "k_", ms=14, label="truth")
steps = [f"{i}→{j}" for i in range(3) for j in range(3)]
ax.set_xticks(range(9), labels=steps)
ax.set(xlabel="step from state to state", ylabel="probability")
legend = ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))

# %%
# Would it draw data like mine?
# -----------------------------
#
# Pick something that the model was not fitted to, compute it on the data, and on data that the
# model draws. Here: how often a symbol comes twice in a row.

from sklearn_cvb.metrics import simulated_check
from sklearn_cvb.plotting import plot_simulated_check


def repeats(sequences):
    return np.mean([np.mean(np.diff(sequence) == 0) for sequence in sequences])


check = simulated_check(sampler, X, repeats, random_state=0)
axes = plot_simulated_check(check, names=["share of steps that repeat a symbol"])

# %%
# The data lie among the draws. If they did not, the model would lack something: states that stay, a
# longer memory, or more states.

# %%
# How sure is a single step?
# --------------------------
#
# ``predict_proba`` has the posterior of each state at each step. If the model says 90 %, it should
# be right nine times of ten. Here the truth is known, so that this can be checked.

proba = np.vstack(list(vb.predict_proba(X)))
surest, right = proba.max(axis=1), proba.argmax(axis=1) == np.concatenate(Z)
for low, high in ((0.3, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 1.01)):
    chosen = (low <= surest) & (surest < high)
    said, share = surest[chosen].mean(), right[chosen].mean()
    print(f"says {said:.2f}: right {share:.2f} of {chosen.sum()} steps")

# %%
# Where this model is less than sure, it is right more often than it says. A prior of ``alpha=1``
# and ``beta=1`` expects states that are alike; it errs on the careful side.

# %%
# Where to go from here: :doc:`/uncertainty` measures how far intervals can be trusted, and
# :doc:`/published/samplers` how fast samplers arrive.
