"""Of the interpreters named on standard input, prints those that run and are newer than this one.

The newest comes first, and of each version one.
"""

import subprocess
import sys

_ASKED = "import ensurepip, venv, sys; print(*sys.version_info[:2])"


def version_of(interpreter):
    """Its version; that of none where it does not run, or cannot make environments."""
    try:
        run = subprocess.run(
            [interpreter, "-c", _ASKED], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(map(int, run.stdout.split()))


if __name__ == "__main__":
    by_version = {version_of(name): name for name in sys.stdin.read().split()}
    for version in sorted(by_version, reverse=True):
        if version > sys.version_info[:2]:
            print(by_version[version])
