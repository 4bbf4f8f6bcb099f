"""Functions called in processes that have imported the package and compiled nothing.

Importing takes longer than most calls: one process does it, and is forked for each call.
"""

import json
import os
import subprocess
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path

_HELPERS = Path(__file__).resolve().parent
_PLACES = [str(_HELPERS), str(_HELPERS.parent), str(_HELPERS.parents[1])]


@contextmanager
def calls_to(script):
    """A function that calls what a script serves, each time in a process of its own.

    Parameters
    ----------
    script : str
        A file that ends in `serve`.

    Yields
    ------
    call : callable
        Arguments and results are what JSON can say.
    """
    places = [*_PLACES, os.environ.get("PYTHONPATH", "")]
    server = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))},
    )

    def call(*arguments):
        server.stdin.write(json.dumps(arguments) + "\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["result"]

    try:
        yield call
    finally:
        server.communicate(timeout=300)


def serve(function):
    """Call a function with the arguments in each line of the standard input, and print results."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            print(json.dumps(_answer(function, json.loads(line))), flush=True)
            os._exit(0)
        os.waitpid(child, 0)


def _answer(function, arguments):
    try:
        return {"result": function(*arguments)}
    except Exception:
        return {"error": traceback.format_exc()}
