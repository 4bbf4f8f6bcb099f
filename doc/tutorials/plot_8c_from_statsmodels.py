"""
From statsmodels: switching models
==================================

What ``MarkovRegression`` of statsmodels does, and the same here: regimes, switching regressions,
transitions that follow an indicator, and what statsmodels has not, forecasts. Code of statsmodels
is shown and not run. The likelihoods are the same function of the same parameters: with
``Transitions(start="stationary")``, as statsmodels begins, published fits come out to the last
digit that was published.
"""

# %%
# The series
# ----------
#
# A rate, month by month, that follows its own last value in two regimes, and an indicator that
# comes before changes of regime. The data are generated, so that the truth is known.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(1)
n = 400
indicator = np.convolve(rng.normal(size=n + 20), np.ones(20) / np.sqrt(20), "valid")[:n]
state, rate = np.zeros(n, int), np.zeros(n)
for t in range(1, n):
    odds = (3.0 if state[t - 1] else -3.0) - 2.0 * indicator[t]
    state[t] = rng.random() < 1 / (1 + np.exp(-odds))
    rate[t] = (0.3, -0.6)[state[t]] + (0.5, 0.8)[state[t]] * rate[t - 1] + 0.5 * rng.normal()
before, now = rate[:-1], rate[1:]

# %%
# Regimes with a mean each
# ------------------------
#
# .. code-block:: python
#
#    model = sm.tsa.MarkovRegression(now, k_regimes=2)
#    result = model.fit(search_reps=20)
#    result.llf, result.smoothed_marginal_probabilities, result.expected_durations
#
# One variance for all regimes is statsmodels' default, and ``"tied"`` here. X is a list of series;
# random starts are restarts.

from sklearn_cvb import EMHMM, Transitions
from sklearn_cvb.emissions import Gaussian

stationary = Transitions(start="stationary")
levels = EMHMM(2, emission=Gaussian("tied"), transitions=stationary, n_init=5, random_state=0)
levels.fit([now])
print(f"log-likelihood {levels.score_samples([now])[0]:.2f}")
months = 1 / (1 - levels.transmat_.diagonal())
print("means", levels.means_.ravel().round(2), "months", months.round(1))
smoothed, filtered = levels.predict_proba([now])[0], levels.filter_proba([now])[0]

# %%
# Switching regressions
# ---------------------
#
# .. code-block:: python
#
#    sm.tsa.MarkovRegression(now, k_regimes=2, exog=before)
#    sm.tsa.MarkovRegression(now, k_regimes=2, exog=before, switching_variance=True)
#    sm.tsa.MarkovRegression(now, k_regimes=2, exog=before, switching_exog=False)
#
# Inputs are columns of X. Coefficients switch, unless ``switching`` leaves them out; intercepts
# always do.

from sklearn_cvb.emissions import Regression

series = np.column_stack([before, now])
settings = {"transitions": stationary, "n_init": 5, "random_state": 0}
kinds = {
    "one variance": Regression(inputs=[0], covariance_type="tied"),
    "a variance each": Regression(inputs=[0]),
    "one slope, too": Regression(inputs=[0], covariance_type="tied", switching=[]),
}
for name, emission in kinds.items():
    model = EMHMM(2, emission=emission, **settings).fit([series])
    print(f"{name}: {model.score_samples([series])[0]:.2f}, BIC {model.bic([series]):.1f}")

# %%
# ``MarkovAutoregression`` compares last values with the means of their regimes (Hamilton 1989);
# here the intercept switches, as in ``MarkovRegression`` with the last value as ``exog``:
# :class:`~sklearn_cvb.emissions.AutoRegressive` makes these inputs by itself.
#
# Any regressor of scikit-learn will do in the place of lines, such as boosted trees:
# :class:`~sklearn_cvb.emissions.Estimator`, :doc:`/auto_tutorials/plot_8b_choices_and_inputs`.
#
# Transitions that vary over time
# -------------------------------
#
# .. code-block:: python
#
#    sm.tsa.MarkovRegression(now, k_regimes=2, exog=before, exog_tvtp=sm.add_constant(leading))
#
# A logistic regression from each regime, of scikit-learn, says what comes next; ``C=np.inf`` is
# maximum likelihood, and an intercept is its own.

from sklearn.linear_model import LogisticRegression

leading = indicator[1:]
moved = Transitions(inputs=[2], estimator=LogisticRegression(C=np.inf))
emission = Regression(inputs=[0], outputs=[1], covariance_type="tied")
X = [np.column_stack([before, now, leading])]
varying = EMHMM(2, emission=emission, transitions=moved, n_init=5, random_state=0).fit(X)
low = int(varying.intercepts_.argmin())
print(f"log-likelihood {varying.score_samples(X)[0]:.2f}")
for regime, own in enumerate(varying.transition_estimators_):
    print(f"from regime {regime}: {own.intercept_[0]:.2f} {own.coef_[0, 0]:+.2f} leading")

fig, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4), sharex=True, layout="constrained")
top.plot(now, lw=0.8)
top.plot(leading - 4, lw=0.8, label="indicator, moved down")
top.legend(loc="upper right")
bottom.fill_between(np.arange(n - 1), state[1:], step="mid", color="0.85", label="truth")
bottom.plot(varying.predict_proba(X)[0][:, low], label="probability of the low regime")
bottom.set_xlabel("month")
bottom.legend(loc="upper right")

# %%
# The chance to stay low, by the indicator:

for value in (-2.0, 0.0, 2.0):
    print(f"{value:+.0f}: {varying.transmat_of([[value]])[0, low, low]:.2f}")

# %%
# Forecasts
# ---------
#
# statsmodels has none for these models. Here autoregressions go on from the last values, by draws
# whose means are exact; regressions are given the inputs of the next steps.

from sklearn_cvb.emissions import AutoRegressive
from sklearn_cvb.plotting import plot_forecast

lags = EMHMM(2, emission=AutoRegressive(1, covariance_type="tied"), **settings).fit([rate])
forecast = lags.predict_next([rate], 24, level=0.9, random_state=0)
ax = plot_forecast(rate[:, None], forecast, n_last=60)
ax.set_ylabel("rate")

# %%
# Where to go from here: :doc:`/forecasts`; by variational Bayes the same models have intervals,
# :doc:`/auto_tutorials/plot_8_switching_regression`; regimes of a series without inputs are in
# :doc:`/auto_tutorials/plot_3_regimes_in_a_series`.
