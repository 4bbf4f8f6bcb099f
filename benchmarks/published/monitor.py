"""Scores by sweep, and the processor time of the sweeps alone."""

from time import thread_time
from warnings import catch_warnings, simplefilter

from sklearn.callback import ScoringMonitor

_SWEEP = "sweep"


class SelectiveMonitor(ScoringMonitor):
    """scikit-learn's monitor, after chosen sweeps only, with the time of what is not scoring.

    `seconds`: processor seconds of the sweeps done by then, scoring left out, for each scored
    sweep.
    """

    def __init__(self, *, scoring, due):
        super().__init__(scoring=scoring)
        self.due = frozenset(due)
        self.seconds = []
        self._spent, self._resumed, self._is_due = 0.0, 0.0, False

    def setup(self, estimator, context):
        """Start the clock."""
        super().setup(estimator, context)
        self._resumed = thread_time()

    def on_fit_task_begin(self, estimator, context):
        """Stop the clock: a sweep's task begins when the sweep is done."""
        self._is_due = context.task_name == _SWEEP and context.task_id + 1 in self.due
        if context.task_name == _SWEEP:
            self._spent += thread_time() - self._resumed
            self._resumed = thread_time()

    @property
    def on_fit_task_end(self):
        """The hook; it asks for the fitted estimator, which costs a decoding, only when due."""
        return self._score if self._is_due else self._skip

    def _skip(self, estimator, context):
        self._resumed = thread_time()

    def _score(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self._is_due = False
        self.seconds.append(self._spent)
        super().on_fit_task_end(estimator, context, X=X, y=y, fitted_estimator=fitted_estimator)
        self._resumed = thread_time()


def curve(estimator, X, y, scoring, due):
    """Fit, and score after some sweeps.

    `estimator`: with one restart; the fit runs on this thread. `X`, `y`: what to learn from, and
    what the scorers get. `scoring`: ``scorer(fitted_estimator, X, y) -> float``. `due`: sweeps,
    counted from 1. Returns ``sweeps``, ``seconds`` (processor time of all sweeps done, without
    reading X and without scoring) and one list for each scorer.
    """
    monitor = SelectiveMonitor(scoring=scoring, due=due)
    with catch_warnings():
        simplefilter("ignore", UserWarning)
        estimator.set_callbacks(monitor).fit(X, y)
    rows = monitor.get_logs().data
    rows = [row for row in rows if row["task_name"] == _SWEEP]
    return {
        "sweeps": [row["task_id"] + 1 for row in rows],
        "seconds": monitor.seconds,
        **{name: [row[name] for row in rows] for name in scoring},
    }
