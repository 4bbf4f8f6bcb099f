"""scikit-learn's callbacks: a fit is a task, its restarts and their sweeps are subtasks."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sklearn_cvb.learning.learned import FitResult

# What a fit would leave: fitted attributes, also private ones, by their names.
Attributes = Callable[[FitResult], dict[str, Any]]


class RestartTask(NamedTuple):
    """A restart, whose subtasks are its sweeps."""

    task: Any  # its context
    fit_arguments: dict[str, Any]  # the estimator, X and y
    attributes_of: Attributes

    def after_sweep(self, result: Callable[[], FitResult]) -> bool:
        """Tell of a sweep; True ends the restart."""
        step = self.task.subcontext("sweep")
        step.call_on_fit_task_begin(**self.fit_arguments)

        def attributes() -> dict[str, Any]:
            return self.attributes_of(result())

        return bool(
            step.call_on_fit_task_end(**self.fit_arguments, reconstruction_attributes=attributes)
        )

    def end(self) -> None:
        """The restart is over."""
        self.task.call_on_fit_task_end(**self.fit_arguments)


class FitTask:
    """A fit that is to be told of, whose subtasks are its restarts.

    Parameters
    ----------
    estimator : BaseModel
        With callbacks.
    X, y
        As `fit` got them.
    attributes_of : callable
    """

    def __init__(self, estimator: Any, X: Any, y: Any, attributes_of: Attributes) -> None:
        self._given = {"estimator": estimator, "X": X, "y": y}
        self._attributes_of = attributes_of
        self._context: Any = None

    def begin(self, n_restarts: int) -> None:
        """A fit of so many restarts begins."""
        self._context = self._given["estimator"]._init_callback_context(
            max_subtasks=n_restarts, sequential_subtasks=False
        )
        self._context.call_on_fit_task_begin(**self._given)

    def begin_restart(self, index: int, max_iter: int) -> RestartTask:
        """A restart of at most so many sweeps; it begins."""
        task = self._context.subcontext("restart", task_id=index, max_subtasks=max_iter)
        task.call_on_fit_task_begin(**self._given)
        return RestartTask(task, self._given, self._attributes_of)

    def end(self) -> None:
        """The fit is over, and the estimator has what it left."""
        estimator = self._given["estimator"]
        self._context.call_on_fit_task_end(
            **self._given, reconstruction_attributes=lambda: vars(estimator)
        )
