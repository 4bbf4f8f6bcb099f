"""What inference asks of memory and time for one sample: told before any of it is taken."""

import os
import sys
from pathlib import Path
from typing import Any

from sklearn_cvb.reading.validation import tell

# Steps of a nanosecond or so: beyond these one pass over a sample takes minutes.
MANY_STEPS = 3e11
# Less is never asked for in vain; more than this share of what is free is refused.
_LITTLE, _MOST = 1e8, 0.8
# Functions that call themselves for each level of a tree have fewer frames of it.
_FRAMES = 3


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
        tell(
            [
                f"{sample} has {words}: to infer it once takes minutes ({n_steps:.0e} steps, "
                f"{gigabytes} of memory): {remedy}"
            ]
        )


def refuse_deep_tree(tree: Any, name: str) -> None:
    """Raise ValueError where a tree has more levels than Python goes down."""
    n_levels, nodes, most = 0, [tree], sys.getrecursionlimit() // _FRAMES
    while nodes:
        n_levels += 1
        nodes = [child for node in nodes for child in node if hasattr(child, "label")]
    if n_levels > most:
        raise ValueError(
            f"{name} has {n_levels:,} levels, and trees are read to {most:,}: take away chains of "
            "nodes with a single child, leave it out, or raise the limit with "
            "sys.setrecursionlimit"
        )
