"""Checkpoints of running fits: the parameter of estimators, and the saver that it opens."""

import os
from contextlib import AbstractContextManager
from typing import Annotated, Any

from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.learning.learned import FitJob
from sklearn_cvb.learning.resuming import FitSaver
from sklearn_cvb.reading.validation import Folder
from sklearn_cvb.settings import Checkpoint


class Checkpoints(BaseModel):
    """A model whose fits are saved while they run.

    Parameters
    ----------
    checkpoint : path, Checkpoint or None
        Folder in which the fit is saved while it runs. With ``warm_start=True`` the next `fit` on
        the same sequences, also in another process, goes on from there to `max_iter` sweeps, as if
        nothing had stopped it. One folder for each fit.
    """

    checkpoint: Annotated[  # type: ignore[misc]
        Folder | Checkpoint | None, str, os.PathLike, Checkpoint, None
    ] = None

    def _open_saver(self, job: FitJob[Any]) -> AbstractContextManager[FitSaver]:
        if self.checkpoint is None:
            return super()._open_saver(job)
        # Most fits need none of it.
        from sklearn_cvb.scale.checkpoints import identity_of_fit, open_checkpoint

        settings, whole = Checkpoint.of(self.checkpoint), job.reading.problem.identity
        identity = identity_of_fit(
            type(self).__name__, job.reading, whole, self.get_params(deep=False)
        )
        return open_checkpoint(job, settings, str(self.checkpoint), identity)
