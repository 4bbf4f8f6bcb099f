"""Drawing again what came out too long: sentences of all models with trees."""

from collections.abc import Callable
from typing import TypeVar

from sklearn_cvb.reading.validation import check_counts

# So many draws in a row may be too long.
_LARGEST_FAILURES = 1000

_Drawn = TypeVar("_Drawn")


def drawn_within(
    draw: Callable[[], _Drawn | None], n_samples: int, longest: int, what: str, advice: str
) -> list[_Drawn]:
    """So many draws that are not too long.

    Parameters
    ----------
    draw : callable
        Gives a draw, None for one of more than `longest` tokens.
    n_samples, longest : int
    what : str
        What a message says of such draws.
    advice : str
        What to do about them, besides a larger `longest`.

    Returns
    -------
    list

    Raises
    ------
    ValueError
        If a number is not positive, or nearly all draws are too long.

    Examples
    --------
    >>> from sklearn_cvb.grammar.derivations import drawn_within
    >>> draws = iter(["a b", None, "a"])
    >>> drawn_within(lambda: next(draws), 2, 2, "sentences are longer than 2", "nothing")
    ['a b', 'a']
    """
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
