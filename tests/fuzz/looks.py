"""What holds of every fitted model: it can be shown and drawn, and copies do as it does."""

import pickle

import numpy as np
from sklearn.base import clone

# Of these most draws have their own: a fit that is made anew costs as much as the first.
_ALIKE = ("history_", "restart_objectives_", "objective_")


def check_looks(model, *, draws=False):
    """Summaries are made, and now and then pictures, whatever was fitted."""
    assert str(model.summary()).strip()
    assert "<" in model._html_repr()
    if draws:
        _check_pictures(model)


def _check_pictures(model):
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    from sklearn_cvb import plotting

    axes = plotting.plot_history(model, Figure().add_subplot())
    assert len(axes.lines[0].get_ydata()) == len(model.history_)
    if getattr(getattr(model, "transmat_", None), "ndim", 0) == 2:
        plotting.plot_transitions(model, ax=Figure().add_subplot())
    pyplot.close("all")


def check_series_pictures(model, series):
    """The first series over its states, its residuals, and what may come next."""
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    from sklearn_cvb import plotting

    first = series[0]
    states = model.predict([first])[0]
    plotting.plot_states(first, states)
    residuals = model.pseudo_residuals([first], "past", random_state=0)[0]
    if (np.isfinite(residuals).sum(axis=0) > 1).all():
        plotting.plot_residuals(residuals)
    try:
        ahead = model.predict_next([first], 2, n_draws=5, random_state=0)
    except ValueError:
        # Regressions want inputs, orders so many steps, and ends allow no next step at times.
        pass
    else:
        plotting.plot_forecast(first, ahead, ax=Figure().add_subplot())
    pyplot.close("all")


def check_drawn(*pictures):
    """A text for a terminal and markup for a notebook are made of each."""
    for picture in pictures:
        assert str(picture).strip()
        assert "<" in picture._repr_html_()


def check_copies(model, X, y=None, *, again=False):
    """A copy by pickle answers alike, and a fit of a clone, where it is made, ends alike."""
    copy = pickle.loads(pickle.dumps(model))
    for method in ("predict", "score_samples"):
        assert _answer(copy, method, X) == _answer(model, method, X), method
    unfitted = clone(model)
    assert "_learned" not in vars(unfitted)
    if not again or not isinstance(model.random_state, int):
        return
    unfitted.fit(X, y)
    for name in _ALIKE:
        np.testing.assert_array_equal(getattr(unfitted, name), getattr(model, name), name)


def _answer(model, method, X):
    """What a method gives, or says, as a text that differs where numbers do."""
    try:
        return repr(
            [row.tolist() if hasattr(row, "tolist") else row for row in getattr(model, method)(X)]
        )
    except (ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
