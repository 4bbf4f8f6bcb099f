"""
Choices and inputs: GLM-HMM
===========================

An animal, or a person, chooses left or right, trial by trial. What it sees matters, but not always:
for a while it looks, then it favours one side. A hidden Markov model with a logistic regression in
each state, known as GLM-HMM, finds such strategies and when each was used. In this tutorial you
fit one, with scikit-learn's own regression, choose the penalty and the number of states, and let
inputs move the states, too.
"""

# %%
# The trials
# ----------
#
# A sequence is a session: a row a trial, with the stimulus (negative: left), the choice before and
# the choice now, 1 for right. Data are generated after three strategies that Ashwood et al. (2022)
# found in mice: one that looks, one that favours the left, one that favours the right.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
# Weights of the stimulus, of the choice before, and of nothing (bias).
true_weights = np.array([[6.0, 0.3, 0.5], [2.0, 0.8, -3.0], [2.0, 0.8, 3.0]])
moves = np.array([[0.98, 0.01, 0.01], [0.05, 0.92, 0.03], [0.03, 0.03, 0.94]])
stimuli = np.array([-1, -0.5, -0.25, -0.125, 0, 0.125, 0.25, 0.5, 1])


def session(n_trials=90):
    """Trials of one session, and the strategy in each."""
    rows, strategies, before = [], [], 0.0
    strategy = rng.integers(3)
    for _ in range(n_trials):
        inputs = np.array([rng.choice(stimuli), before])
        odds = true_weights[strategy, :2] @ inputs + true_weights[strategy, 2]
        choice = float(rng.random() < 1 / (1 + np.exp(-odds)))
        rows.append([*inputs, choice])
        strategies.append(strategy)
        before, strategy = 2 * choice - 1, rng.choice(3, p=moves[strategy])
    return np.array(rows), np.array(strategies)


sessions, truth = zip(*(session() for _ in range(40)), strict=True)
sessions, truth = list(sessions), list(truth)

# %%
# A regression for each strategy
# ------------------------------
#
# ``Estimator`` takes any classifier or regressor of scikit-learn; each state gets a clone, which is
# fitted with the probabilities of its state as sample weights.

from sklearn.linear_model import LogisticRegression

from sklearn_cvb import EMHMM
from sklearn_cvb.emissions import Estimator
from sklearn_cvb.metrics import one_to_one_accuracy

choice = Estimator(LogisticRegression(), inputs=[0, 1], outputs=[2])
model = EMHMM(3, emission=choice, random_state=0).fit(sessions)
found = list(model.predict(sessions))
print(f"trials in the right strategy: {one_to_one_accuracy(truth, found):.1%}")

# %%
# The regressions are scikit-learn's: read their coefficients as ever.

weights = np.array([[*own.coef_[0], own.intercept_[0]] for own in model.estimators_])
order = np.argsort(weights[:, 2])
fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3), width_ratios=[1, 2], layout="constrained")
for k, name in zip(order, ("left", "looks", "right"), strict=True):
    left.plot(weights[k], "o-", label=name)
    right.plot(model.predict_proba(sessions[:1])[0][:, k], label=name)
left.axhline(0, lw=0.5, color="0.5")
left.set_xticks(range(3), ["stimulus", "before", "bias"])
left.set_ylabel("weight")
right.set(xlabel="trial of the first session", ylabel="probability of the strategy")
right.legend()

# %%
# The objective is penalised, as the regressions are (``C=1`` by default): with
# ``LogisticRegression(C=np.inf)`` it is the likelihood. Many starts end at worse optima, so that
# six are made where ``n_init`` is not given; `restart_objectives_` says how they ended.

print(np.round(model.restart_objectives_, 1))

# %%
# How strong a penalty, how many strategies?
# ------------------------------------------
#
# By sessions that are held out, with scikit-learn's own search. Scores are nats a trial.

from sklearn.model_selection import GridSearchCV

settings = {"emission__estimator__C": [0.01, 1.0], "n_components": [2, 3]}
quick = EMHMM(2, emission=choice, n_init=2, random_state=0)
search = GridSearchCV(quick, settings, cv=3).fit(sessions)
print(search.best_params_)

# %%
# Any other estimator
# -------------------
#
# Trees bend where lines cannot. For most estimators no objective is known that rises in each sweep:
# then the best sweep is kept.

from sklearn.ensemble import HistGradientBoostingClassifier

trees = HistGradientBoostingClassifier(max_iter=20, max_depth=2, min_samples_leaf=40)
for name, own in (("regressions", LogisticRegression()), ("trees", trees)):
    emission = Estimator(own, inputs=[0, 1], outputs=[2])
    other = EMHMM(3, emission=emission, n_init=2, random_state=0).fit(sessions[:30])
    print(f"{name}: {other.score(sessions[30:]):.3f} nats a trial held out")

# %%
# What moves the states?
# ----------------------
#
# Transitions may depend on inputs as well: from each state a logistic regression says what comes
# next. Here strategies change at random, and the share of the session that is over hardly moves
# them.

from sklearn_cvb import Transitions

over = [np.column_stack([own, np.linspace(-1, 1, len(own))]) for own in sessions]
moved = EMHMM(3, emission=choice, transitions=Transitions(inputs=[3]), random_state=0).fit(over)
for state, own in enumerate(moved.transition_estimators_):
    print(f"from state {state}:", np.round(own.coef_.ravel(), 1))
early, late = moved.transmat_of([[-1.0], [1.0]])
print("staying, early and late:", np.round([early.diagonal(), late.diagonal()], 2).tolist())

# %%
# Where to go from here: :doc:`/auto_tutorials/plot_8_switching_regression` has lines with
# intervals, by variational Bayes; :doc:`/forecasts` says what comes next, given the inputs of the
# next steps.
