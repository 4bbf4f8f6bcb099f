"""Panels of other libraries of time series: sktime's and aeon's become lists of sequences."""

from typing import Any

import numpy as np


def split_panel(panel: Any) -> list[Any]:
    """Cut a panel of series, as sktime and aeon hold them, into a list of sequences.

    Parameters
    ----------
    panel : array of shape (n_samples, n_channels, n_timepoints), list or DataFrame
        Steps without any value at the end of an array are padding. A list holds arrays of shape
        (n_channels, n_timepoints), which may be of several lengths. A frame has an index of several
        levels, the last of which is time; all others say which series a row is of.

    Returns
    -------
    list of ndarray or DataFrame
        One sequence for each series, in the order of the panel: an array of shape (n_timepoints,
        n_channels), or the frame of its rows with time as index.

    Raises
    ------
    ValueError
        If the panel has another form, or a series has no value.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import split_panel
    >>> panel = np.arange(12.0).reshape(2, 3, 2)
    >>> panel[1, :, 1] = np.nan
    >>> [series.shape for series in split_panel(panel)]
    [(2, 3), (1, 3)]
    """
    index: Any = getattr(panel, "index", None)
    if getattr(index, "nlevels", 1) > 1:
        levels = list(range(index.nlevels - 1))
        groups = panel.groupby(level=levels if len(levels) > 1 else 0, sort=False)
        return [group.droplevel(levels) for _, group in groups]
    series = list(panel) if isinstance(panel, list | np.ndarray) else []
    if not series or any(np.ndim(one) != 2 for one in series):
        raise ValueError(
            "a panel is an array of shape (n_samples, n_channels, n_timepoints), a list of arrays "
            "of shape (n_channels, n_timepoints), or a frame with an index of series and time; got "
            f"{type(panel).__name__} of shape {getattr(panel, 'shape', None)}"
        )
    return [_steps_of(np.asarray(one, np.float64), i) for i, one in enumerate(series)]


def _steps_of(channels: np.ndarray, index: int) -> np.ndarray:
    """A series as (n_timepoints, n_channels), without padding at its end."""
    values = channels.T
    observed = np.flatnonzero(~np.isnan(values).all(axis=1))
    if not len(observed):
        raise ValueError(f"series {index} of the panel has no value: leave it out")
    return values[: observed[-1] + 1]
