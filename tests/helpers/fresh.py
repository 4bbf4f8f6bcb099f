"""Programs in processes that have imported nothing of this package.

What it needs of other packages takes longer to import than most programs run: one process has done
so, and is forked for each of them.
"""

import atexit
import contextlib
import os
import sys
import tempfile
import traceback
from functools import cache
from typing import NamedTuple

from forks import calls_to, serve


class Done(NamedTuple):
    """What is left of a program."""

    returncode: int
    stdout: str
    stderr: str


def run(program):
    """Run a program from its beginning to its end."""
    return Done(*_in_a_process()(program))


@cache
def _in_a_process():
    server = contextlib.ExitStack()
    atexit.register(server.close)
    return server.enter_context(calls_to(__file__))


def _left_by(program):
    """What a program leaves: its status, and all that it has written."""
    status = 0
    with tempfile.TemporaryFile() as written, tempfile.TemporaryFile() as told:
        answers = os.dup(1)
        for number, file in ((1, written), (2, told)):
            os.dup2(file.fileno(), number)
        try:
            exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            status = 1
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.dup2(answers, 1)
        texts = []
        for file in (written, told):
            file.seek(0)
            texts.append(file.read().decode())
    return status, *texts


if __name__ == "__main__":
    # What importing the package imports of others.
    import joblib  # noqa: F401
    import numba  # noqa: F401
    import sklearn.model_selection  # noqa: F401

    serve(_left_by)
