"""Fits that are broken off half-way, or watched while they run."""

import pytest


def callbacks():
    """scikit-learn's callbacks; skips a test where it has none."""
    return pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")


class Interrupt:
    """A callback that presses Ctrl-C, or raises another error, after a sweep."""

    def __init__(self, at, error=KeyboardInterrupt):
        self.at, self.error = at, error

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to tidy up."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to note."""

    def on_fit_task_end(self, estimator, context):
        """Count sweeps down."""
        if context.task_name == "sweep":
            self.at -= 1
            if self.at == 0:
                raise self.error


class Recorder:
    """A callback that keeps the log-likelihood of every finished sweep, and may stop or raise."""

    def __init__(self, at=None, error=None):
        self.scores, self.at, self.error = [], at, error

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to tidy up."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to note."""

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        """Score the model as it stands after the sweep."""
        if context.task_name != "sweep":
            return False
        self.scores.append(fitted_estimator.score(X))
        if len(self.scores) != self.at:
            return False
        if self.error is not None:
            raise self.error
        return True


def watched(model, callback):
    """The model, which calls back; skips a test where scikit-learn has no callbacks."""
    callbacks()
    return model.set_callbacks(callback)
