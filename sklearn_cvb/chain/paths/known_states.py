"""Known states of some tokens: those in `y` under ``supervision="y"``."""

from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from sklearn_cvb.chain.paths.lattice import Topology
from sklearn_cvb.reading.corpus import Corpus, place_text, short_repr


def known_states(y: Any, corpus: Corpus, n_states: int) -> np.ndarray:
    """State of each token, -1 where unknown."""
    from sklearn_cvb.chain.tags.knowledge import read_labels

    states = np.full(len(corpus.tokens), -1, np.int32)
    for t, label in enumerate(read_labels(y, corpus, numeric=True)):
        if label is None:
            continue
        is_whole = isinstance(label, Integral) or (
            isinstance(label, Real) and float(label).is_integer()
        )
        if isinstance(label, bool) or not is_whole or not -1 <= label < n_states:
            raise ValueError(
                f"y holds {short_repr(label)} ({place_text(t, corpus.starts)}): states are 0 to "
                f"{n_states - 1}, or -1 or None where unknown (see n_components)"
            )
        states[t] = int(label)
    return states


def refuse_impossible(known: np.ndarray, corpus: Corpus, topology: Topology) -> None:
    """Raise ValueError where a topology leaves the known states of a sequence no path."""
    for begin, end in pairwise(corpus.starts):
        if (known[begin:end] < 0).all():
            continue
        reached = topology.start
        for t in range(begin, end):
            if t > begin:
                reached = topology.transition[reached].any(axis=0)
            if known[t] >= 0:
                reached = reached & (np.arange(len(reached)) == known[t])
            if not reached.any():
                raise ValueError(
                    f"no path that transitions allow has the states y tells up to "
                    f"{place_text(t, corpus.starts)} (state {known[t]} there)"
                )
