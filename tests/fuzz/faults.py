"""Faults by the hundred: killed workers, stores against memory, random calls.

``python tests/fuzz/faults.py --kills 50 --stores 500 --draws 20000 --seed 0`` says how many of each
went as they should, names those that did not, and how long the longest took. What is drawn follows
from its number, which begins at the seed; the tests make a part of it with fixed seeds.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))

import random_kills
from fuzz import test_fuzz
from fuzz.agreement import check_store


def made(check, numbers):
    """Of so many draws, how many were as they should, and the seconds of the longest."""
    n_right, longest = 0, (0.0, -1)
    for i in numbers:
        begin = time.perf_counter()
        try:
            check(i)
            n_right += 1
        except Exception as error:
            cause = "" if error.__cause__ is None else f" from {error.__cause__!r}"
            print(f"draw {i}: {type(error).__name__}: {error}{cause}", flush=True)
        longest = max(longest, (time.perf_counter() - begin, i))
    return n_right, longest


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("kills", "stores", "draws", "seed"):
        parser.add_argument(f"--{name}", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.kills:
        n_survived, longest = random_kills.survive(given.kills, given.seed)
        print(f"{n_survived} of {given.kills} kills survived, the longest fit took {longest:.1f} s")
    for name, check in (("stores", check_store), ("draws", test_fuzz.check)):
        n = getattr(given, name)
        if n:
            n_right, (longest, i) = made(check, range(given.seed, given.seed + n))
            print(f"{n_right} of {n} {name} right, the longest took {longest:.1f} s (number {i})")


if __name__ == "__main__":
    main()
