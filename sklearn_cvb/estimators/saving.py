"""Pickles of fitted models: each says which version saved it, and only that version loads it."""

from typing import Any

import numpy as np

from sklearn_cvb import version
from sklearn_cvb.learning.learned import Learned, LearnedFields
from sklearn_cvb.reading.saved_values import loaded, saved
from sklearn_cvb.website import SiteLink


class VersionedPickle(SiteLink):
    """Base of what is pickled together with what a fit has left (`_learned`)."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        learned = state.get("_learned")
        if isinstance(learned, Learned):
            # skops writes named tuples, but nothing that inherits from one.
            state = state | {"_learned": LearnedFields(*learned)}
        state = saved(state)
        return state | {"_saved_by": version.__version__} if "_learned" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(loaded(state))
        # Before what a fit leaves was one value, nothing said who had saved it.
        saved_by = state.pop("_saved_by", "before 0.1.0")
        is_fitted = "_learned" in state or "history_" in state
        if is_fitted and saved_by != version.__version__:
            raise ValueError(
                f"this {type(self).__name__} was saved by sklearn_cvb {saved_by}, and this is "
                f"{version.__version__}: fit it anew"
            )
        # Arrays from a memory map may only be read: numba takes them for another type and would
        # compile kernels anew, and a warm start changes them in place.
        private = {name: _writable(value) for name, value in state.items() if name[0] == "_"}
        if isinstance(private.get("_learned"), LearnedFields):
            private["_learned"] = Learned(*private["_learned"])
        super().__setstate__(state | private)


def _writable(value: Any) -> Any:
    """A value whose arrays, also those in tuples, are copied where they may only be read."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else np.array(value)
    if isinstance(value, tuple):
        parts = map(_writable, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
