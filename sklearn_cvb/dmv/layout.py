"""Which cells the parameters of a dependency model are, and the rows that they stand in."""

from typing import NamedTuple

import numpy as np


class Layout(NamedTuple):
    """The cells of a model, in the order of `sklearn_cvb.kernels.dependency.arrays`.

    Attributes
    ----------
    n_types : int
        Number of tags.
    n_valences : int
        Rows of attachments for each head and side.
    backoff : {None, "head", "direction"}
        What the rows of attachments back off to: p(child | head, side), p(child | side), or
        nothing.
    """

    n_types: int
    n_valences: int = 1
    backoff: str | None = None

    @property
    def n_own(self) -> int:
        """Number of rows of attachments, the root's and coarse ones aside."""
        return 2 * self.n_types * self.n_valences

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Rows and width of each table: attachments, choices; mixtures and coarse rows, if any."""
        n = self.n_types
        plain = (self.n_own + 1, n), (4 * n, 2)
        if self.backoff is None:
            return plain
        return (*plain, (self.n_own, 2), (2 * n if self.backoff == "head" else 2, n))

    @property
    def n_cells(self) -> int:
        """Number of parameters."""
        return sum(n_rows * width for n_rows, width in self.shapes)

    @property
    def coarse(self) -> np.ndarray | None:
        """The coarse row that each row of attachments backs off to."""
        if self.backoff is None:
            return None
        by_head = np.arange(self.n_own) // self.n_valences
        return by_head if self.backoff == "head" else by_head % 2

    @property
    def mixed(self) -> "Layout":
        """That of the same model with mixtures worked out."""
        return self._replace(backoff=None)


def tables_of(cells: np.ndarray, layout: Layout) -> list[np.ndarray]:
    """Views of flat cells: attachments, the root's row the last; choices; mixtures; coarse rows."""
    found, begin = [], 0
    for n_rows, width in layout.shapes:
        end = begin + n_rows * width
        found.append(cells[begin:end].reshape(n_rows, width))
        begin = end
    return found


def totals_of(cells: np.ndarray, layout: Layout) -> np.ndarray:
    """Sums of rows."""
    return np.concatenate([table.sum(axis=1) for table in tables_of(cells, layout)])


def by_cell(totals: np.ndarray, layout: Layout) -> np.ndarray:
    """The value of its row for each cell."""
    n_rows, widths = zip(*layout.shapes, strict=True)
    return np.repeat(totals, np.repeat(widths, n_rows))
