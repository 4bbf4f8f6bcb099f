"""A fit of three restarts on two threads whose process is killed, between saves or in one."""

import os
import signal
import sys

import sklearn_cvb
from sklearn_cvb import Checkpoint, Samples
from sklearn_cvb.scale import checkpoint_files as checkpoint

X = [list(letters) for letters in ("abab", "ba", "aab", "bbab", "ab")]


def several(name, **settings):
    """An estimator with three restarts on two threads."""
    more = {"samples": Samples(2)} if name == "GibbsHMM" else {"tol": 0}
    return getattr(sklearn_cvb, name)(
        n_init=3, n_jobs=2, max_iter=8, random_state=1, **more, **settings
    )


def die_after(n, when):
    """Let the process be killed at a call after `n` of them: of a save, or of a write to disk."""
    owner, name = (os, "fsync") if when == "saving" else (checkpoint, "save")
    sound, done = getattr(owner, name), []

    def dying(*arguments):
        done.append(None)
        if len(done) > n:
            os.kill(os.getpid(), signal.SIGKILL)
        return sound(*arguments)

    setattr(owner, name, dying)


if __name__ == "__main__":
    estimator, moment, n_calls, folder = sys.argv[1:]
    die_after(int(n_calls), moment)
    several(estimator, checkpoint=Checkpoint(folder, every=1)).fit(X)
