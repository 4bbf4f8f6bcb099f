"""Two sentences and the links of their words: a grid in a notebook, lines on a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.alignment.links import NO_SOURCE, Link, check_links
from sklearn_cvb.display.arcs import COLOURS, GOLD, width_of
from sklearn_cvb.display.svg import Picture, escaped, svg_head
from sklearn_cvb.display.texts import padded, texts_of

# Pixels: a cell of the grid, letters, and the room around all.
_CELL, _FONT, _MARGIN = 22.0, 14.0, 6.0
# Of circles: the largest radius, in cells, and the smallest posterior that is drawn. Of squares:
# half a side.
LARGEST, SMALLEST_SHOWN, HALF_SQUARE = 0.42, 0.005, 0.46


class Circle(NamedTuple):
    """A link posterior: the column of its source word, the row of its target word, and a radius."""

    column: int
    row: int
    radius: float


class AlignedSentences(Picture):
    """Links between the words of two sentences, to look at.

    A notebook shows a grid: a column for each source word, a row for each target word, circles
    whose areas are link posteriors, squares around gold links. ``print`` shows for each target word
    its most probable source, with its position where the word stands in the sentence twice.

    Parameters
    ----------
    source, target : sequence
        Words.
    links : ndarray of shape (n_target, n_source + 1), or sequence
        Link posteriors as `predict_proba` gives them; or the source position of each target word,
        as `predict` does, -1 for none; or links (source, target).
    gold : collection of (source, target) or None, default=None
        Links that are right.

    Raises
    ------
    TypeError
        If a sentence is a string, or links are none.
    ValueError
        If a sentence is empty, shapes differ, or a link lies outside the sentences.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb.display import AlignedSentences
    >>> posteriors = np.array([[0.9, 0.0, 0.1], [0.25, 0.75, 0.0]])
    >>> words = ["the", "house"], ["la", "casa"]
    >>> print(AlignedSentences(*words, posteriors, gold=[(0, 0), (0, 1)]))
    la   ← the   0.90
    casa ← house 0.75  gold: the
    """

    def __init__(
        self, source: Sequence[Any], target: Sequence[Any], links: Any, *, gold: Any = None
    ) -> None:
        self.source: list[str] = texts_of(source, "source")
        self.target: list[str] = texts_of(target, "target")
        for name in ("source", "target"):
            if not getattr(self, name):
                raise ValueError(f"{name} is empty: a sentence has at least one word")
        sizes = len(self.source), len(self.target)
        self.posteriors: np.ndarray = _posteriors(links, sizes)
        self.gold: set[Link] | None = (
            None if gold is None else set(check_links(gold, "gold", sizes))
        )

    def circles(self) -> list[Circle]:
        """The circles of all posteriors that can be seen, those of no source not among them."""
        table = self.posteriors[:, :-1]
        return [
            Circle(int(i), int(j), LARGEST * math.sqrt(table[j, i]))
            for j, i in np.argwhere(table >= SMALLEST_SHOWN)
        ]

    def squares(self) -> list[tuple[int, int]]:
        """Column and row of each gold link."""
        return sorted(link for link in self.gold or () if link[0] != NO_SOURCE)

    def __str__(self) -> str:
        best = self.posteriors.argmax(axis=1).tolist()
        # Words that stand there twice are told apart by their positions.
        words = enumerate(self.source)
        names = [w if self.source.count(w) == 1 else f"{w}[{i}]" for i, w in words] + ["(none)"]
        columns = padded(self.target), padded([names[i] for i in best])
        lines = []
        for j, i in enumerate(best):
            line = f"{columns[0][j]} ← {columns[1][j]} {self.posteriors[j, i]:.2f}"
            gold = sorted(a for a, b in self.gold or () if b == j)
            if self.gold is not None and i not in gold and (gold or i < len(self.source)):
                right = ", ".join(names[a] for a in gold) or "(none)"
                line += f"  gold: {right}"
            lines.append(line)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r}, {self.target!r})"

    def _svg(self, standalone: bool) -> str:
        n, m = len(self.source), len(self.target)
        left = _MARGIN + _FONT * max(map(width_of, self.target)) + _MARGIN
        top = _MARGIN + _FONT * max(map(width_of, self.source)) + _MARGIN
        width, height = (
            round(x, 1) for x in (left + n * _CELL + _MARGIN, top + m * _CELL + _MARGIN)
        )

        def middle(column: float, row: float) -> tuple[float, float]:
            return round(left + (column + 0.5) * _CELL, 1), round(top + (row + 0.5) * _CELL, 1)

        names = [*self.source, "none"]
        best = self.posteriors.argmax(axis=1).tolist()
        links = ", ".join(f"{w} ← {names[i]}" for w, i in zip(self.target, best, strict=True))
        lines = svg_head(
            width, height, f"Alignment: {links}", f' font-size="{_FONT:g}"', standalone
        )
        # Faint lines between columns and rows.
        right, bottom = left + n * _CELL, top + m * _CELL
        ends = [(left + i * _CELL, top, left + i * _CELL, bottom) for i in range(n + 1)]
        ends += [(left, top + j * _CELL, right, top + j * _CELL) for j in range(m + 1)]
        lines += [
            f'<line x1="{a:.1f}" y1="{b:.1f}" x2="{c:.1f}" y2="{d:.1f}" stroke="currentColor" '
            'opacity="0.2"/>'
            for a, b, c, d in ends
        ]
        for i, word in enumerate(self.source):
            x, y = middle(i, 0)[0] + _FONT / 3, top - _MARGIN
            lines.append(
                f'<text x="{x:.1f}" y="{y:.1f}" transform="rotate(-90 {x:.1f} {y:.1f})">'
                f"{escaped(word)}</text>"
            )
        for j, word in enumerate(self.target):
            x, y = left - _MARGIN, middle(0, j)[1] + _FONT / 3
            lines.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="end">{escaped(word)}</text>')
        for circle in self.circles():
            x, y = middle(circle.column, circle.row)
            lines.append(f'<circle cx="{x}" cy="{y}" r="{circle.radius * _CELL:.1f}"/>')
        side = 2 * HALF_SQUARE * _CELL
        for column, row in self.squares():
            x, y = (z - side / 2 for z in middle(column, row))
            lines.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{side:.1f}" height="{side:.1f}" '
                f'fill="none" stroke="{COLOURS[GOLD]}" stroke-width="2"/>'
            )
        return "\n".join([*lines, "</svg>"])


def _posteriors(links: Any, sizes: tuple[int, int]) -> np.ndarray:
    """Link posteriors, shape (n_target, n_source + 1), also of links without probabilities."""
    n, m = sizes
    if isinstance(links, np.ndarray) and links.ndim == 2 and links.dtype.kind == "f":
        if links.shape != (m, n + 1):
            raise ValueError(
                f"links has shape {links.shape} instead of {(m, n + 1)}: a row for each target "
                "word, a column for each source word and one for none"
            )
        if not ((links >= 0) & (links <= 1 + 1e-6)).all():
            raise ValueError("links holds numbers that are no probabilities")
        return np.minimum(links.astype(np.float64), 1.0)
    table = np.zeros((m, n + 1))
    items = sorted(links, key=repr) if isinstance(links, set | frozenset) else links
    is_list = hasattr(items, "__len__") and not isinstance(items, str | bytes)
    if is_list and len(items) == m and all(np.ndim(item) == 0 for item in items):
        items = [(i, j) for j, i in enumerate(items)]
    for i, j in check_links(items, "links", sizes):
        table[j, i] = 1.0
    table[table.sum(axis=1) == 0, n] = 1.0
    return table
