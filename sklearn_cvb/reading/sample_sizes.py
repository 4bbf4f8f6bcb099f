"""Memory and time that samples or sentences take, checked before; samples drawn again while too
long.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sklearn_cvb.reading.validation import check_counts, warn

# Steps of a nanosecond or so: beyond these one pass over a sample takes minutes.
MANY_STEPS = 3e11
# Less is never asked for in vain; more than this share of what is free is refused.
_LITTLE, _MOST = 1e8, 0.8
# This many draws in a row may be too long.
_LARGEST_FAILURES = 1000

_Drawn = TypeVar("_Drawn")


def free_memory() -> float:
    """Bytes that may be taken: what Linux says is available, else all of the machine's memory."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def check_sample(sample: str, words: str, n_bytes: float, n_steps: float) -> None:
    """Raise MemoryError where a sample takes more than there is; warn where it takes minutes."""
    gigabytes, remedy = f"{n_bytes / 1e9:,.1f} GB", "cut it into shorter ones, or leave it out"
    # Others need some; and to ask how much there is takes longer than to read a short sentence.
    if n_bytes > _LITTLE and n_bytes > _MOST * (free := free_memory()):
        raise MemoryError(
            f"{sample} has {words}: to infer it takes {gigabytes} of memory, more than four fifths "
            f"of the {free / 1e9:,.1f} GB that are free: {remedy}"
        )
    if n_steps > MANY_STEPS:
        warn(
            [
                f"{sample} has {words}: to infer it once takes minutes ({n_steps:.0e} steps, "
                f"{gigabytes} of memory): {remedy}"
            ]
        )


def drawn_within(
    draw: Callable[[], _Drawn | None], n_samples: int, longest: int, what: str, advice: str
) -> list[_Drawn]:
    """This many draws that are not too long."""
    check_counts(n_samples=n_samples, longest=longest)
    found: list[_Drawn] = []
    failures = 0
    while len(found) < n_samples:
        drawn = draw()
        if drawn is not None:
            found.append(drawn)
        failures = failures + 1 if drawn is None else 0
        if failures == _LARGEST_FAILURES:
            raise ValueError(f"{failures} {what}: choose a larger longest, or {advice}")
    return found
