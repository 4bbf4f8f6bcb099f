"""The summary of a fitted model: its rows, its steps between states, and the curve of its fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.display.learned import ModelTable, summary_of_model, sweeps_and_convergence
from sklearn_cvb.display.phrase_tree import PhraseTree
from sklearn_cvb.display.svg import escaped, html_page, svg_head
from sklearn_cvb.display.texts import padded

# Pixels: of the picture of steps a cell and letters, and the size of the curve.
_CELL, _FONT, _GAP = 18.0, 12.0, 6.0
_CURVE = 220.0, 56.0
# Of circles: the largest radius, in cells, and the smallest probability that is drawn.
_LARGEST, _SMALLEST = 0.46, 0.01
_BLUE = "#2f7fc1"
_SMALL = "font-size:0.85em;opacity:0.8"
# What is larger scrolls, and a picture of more states than this is folded.
_SCROLLS = "overflow:auto;max-width:100%;max-height:26em"
_MOST_UNFOLDED = 10
# Of the line that shows a mean and a standard deviation, in pixels.
_LINE = 160.0, 14.0


class ModelSummary:
    """What a fitted model has learned, to look at.

    A notebook shows it below scikit-learn's diagram wherever a fitted model stands last in a cell;
    on a terminal ``print(model.summary())`` shows the rows. They are states or tags with their
    share of the tokens and their most frequent symbols (or their means), symbols of a grammar with
    their rules, heads with their dependents, source words with their translations, classes with
    their priors and models; what holds less than half a token is counted, not shown. For hidden
    Markov models a picture shows the transitions: a circle's area is the probability to go from its
    row to its column. For grammars there is the tree of a training sentence. The curve is
    `history_`, what the fit reported sweep by sweep.

    Parameters
    ----------
    model : fitted estimator
        Any model of this package.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If it is no model of this package.

    See Also
    --------
    sklearn_cvb.plotting.plot_transitions : Transitions as a graph, by matplotlib.
    sklearn_cvb.plotting.plot_history : The curve by matplotlib.

    Examples
    --------
    >>> from sklearn_cvb import EMHMMTagger
    >>> from sklearn_cvb.display import ModelSummary
    >>> X = [["the", "dog", "swims"], ["the", "cat", "sleeps"], ["the", "dog", "sleeps"]]
    >>> tags = {"the": "DT", "dog": "NN", "cat": "NN", "swims": "VB", "sleeps": "VB"}
    >>> model = EMHMMTagger(tags, random_state=0).fit(X)
    >>> isinstance(model.summary(), ModelSummary)
    True
    >>> print(model.summary())
    tag  share  most frequent symbols
    DT     33%  the 1.00
    NN     33%  dog 0.67, cat 0.33
    VB     33%  sleeps 0.67, swims 0.33
    4 sweeps, converged
    """

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "get_params"):
            raise TypeError(f"model is {model!r}: give a fitted model of sklearn_cvb")
        check_is_fitted(model)
        self.learned: ModelTable = summary_of_model(model)
        self.name: str = type(model).__name__
        # A mixture has that of the whole model, a classifier none of its own.
        model = getattr(model, "hmm_", model)
        self.history: np.ndarray = np.asarray(getattr(model, "history_", []), dtype=float)
        self._is_total = not hasattr(model, "_algorithm") or model._algorithm().is_total
        if len(self.history):
            self._ended = sweeps_and_convergence(model)
        elif not hasattr(model, "estimators_"):
            self._ended = "made of parameters"
        else:
            self._ended = f"{len(model.classes_)} classes, {type(model.estimators_[0]).__name__}"

    def to_html(self) -> str:
        """A page of its own.

        Returns
        -------
        str
            HTML, to be written in UTF-8; light or dark as the reader's other pages are.
        """
        return html_page(self._repr_html_(), self.name)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        learned, steps = self.learned, ""
        if learned.transitions is not None:
            picture = steps_svg([row.name for row in learned.rows], learned.transitions)
            caption = "from row to column; a circle's area is the probability"
            steps = _captioned(picture, caption)
            if len(learned.rows) > _MOST_UNFOLDED:
                steps = f"<details><summary>Transitions</summary>{steps}</details>"
        tree = ""
        if learned.tree is not None:
            caption = "the first of the training sentences that are short"
            tree = _captioned(PhraseTree(learned.tree)._repr_html_(), caption)
        parts = [_table_of_rows(learned), steps, tree, self._curve()]
        beside = "display:flex;flex-wrap:wrap;gap:1em 2em;align-items:flex-start"
        looks = "margin:0.5em 0;font-family:system-ui,sans-serif;line-height:1.35"
        return f'<div style="{looks}"><div style="{beside}">{"".join(parts)}</div></div>'

    def __str__(self) -> str:
        rows = self.learned.rows
        names = padded([self.learned.row_title, *(row.name for row in rows)])
        lines = [f"{names[0]}  share  {self.learned.content_title}"]
        for name, row in zip(names[1:], rows, strict=True):
            share = "" if row.share is None else f"{row.share:.0%}"
            best = ", ".join(
                text if p is None else f"{text} {p:.2f}" for text, p in row.most_probable
            )
            lines.append(f"{name}  {share:>5}  {best}".rstrip())
        if self.learned.rest:
            lines.append(self.learned.rest)
        return "\n".join([*lines, self._ended])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.name}: {self._ended}>"

    def _curve(self) -> str:
        """The curve of what was reported."""
        if not len(self.history):
            return ""
        unit = "objective (nats)" if self._is_total else "mean log normaliser (nats per token)"
        return _captioned(curve_svg(self.history), f"{unit} by sweep: {self._ended}")


def _captioned(picture: str, caption: str) -> str:
    return (
        f'<div style="{_SCROLLS}">{picture}<div style="{_SMALL};max-width:22em">{escaped(caption)}'
        "</div></div>"
    )


def _table_of_rows(learned: ModelTable) -> str:
    """The rows as a table; a bar behind each share is as long as it is large."""
    cell = "text-align:left;padding:0.15em 0.6em;border:none"
    # Notebooks stripe tables in colours of their own.
    lines = [
        f'<div style="{_SCROLLS}"><table style="border-collapse:collapse;'
        'background:none;color:inherit;font-size:0.95em">',
        f'<tr style="background:none"><th style="{cell}">{escaped(learned.row_title)}</th>'
        f'<th style="{cell}">share</th>'
        f'<th style="{cell}">{escaped(learned.content_title)}</th></tr>',
    ]
    spreads = list(filter(None, (row.mean_and_deviation for row in learned.rows)))
    ends = [side for m, s in spreads for side in (m - 2 * s, m + 2 * s)]
    largest = max((row.share or 0.0 for row in learned.rows), default=0.0) or 1.0
    for row in learned.rows:
        share = ""
        if row.share is not None:
            length = 60 * row.share / largest
            share = (
                f'<span style="display:inline-block;width:{length:.0f}px;height:0.7em;'
                f'background:{_BLUE}"></span> {row.share:.0%}'
            )
        moments = row.mean_and_deviation
        line = _error_bar(*moments, min(ends), max(ends)) if moments else ""
        things = []
        for name, p in row.most_probable:
            said = "" if p is None else f' <span style="{_SMALL}">{p:.2f}</span>'
            looks = "display:inline-block;margin-right:0.8em"
            things.append(f'<span style="{looks}">{escaped(name)}{said}</span>')
        lines.append(
            f'<tr style="background:none"><td style="{cell}"><b>{escaped(row.name)}</b></td>'
            f'<td style="{cell};white-space:nowrap">{share}</td>'
            f'<td style="{cell}">{line}{" ".join(things)}</td></tr>'
        )
    lines.append("</table>")
    if learned.rest:
        lines.append(f'<div style="{_SMALL}">{learned.rest}</div>')
    return "\n".join([*lines, "</div>"])


def _error_bar(mean: float, deviation: float, low: float, high: float) -> str:
    """A mean as a dot and a standard deviation to either side, on a line from low to high."""
    width, height = _LINE
    middle = height / 2
    pixels = [
        4 + (width - 8) * (value - low) / ((high - low) or 1.0)
        for value in (mean - deviation, mean, mean + deviation)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" role="img" '
        f'style="vertical-align:middle;margin-right:0.8em"><title>mean and one standard deviation'
        f'</title><path d="M4 {middle:g}H{width - 4:g}" stroke="currentColor" opacity="0.2"/>'
        f'<path d="M{pixels[0]:.1f} {middle:g}H{pixels[2]:.1f}" stroke="{_BLUE}" '
        f'stroke-width="5" opacity="0.5"/><circle cx="{pixels[1]:.1f}" cy="{middle:g}" r="4" '
        f'fill="{_BLUE}"/></svg>'
    )


def steps_svg(names: list[str], steps: np.ndarray) -> str:
    """A grid of circles for probabilities: rows are where a step begins, columns where it ends."""
    n = len(names)
    edge = _GAP + 0.62 * _FONT * max(map(len, names)) + _GAP
    size = round(edge + n * _CELL + _GAP, 1)
    title = "Transitions from row to column"
    lines = svg_head(size, size, title, f' font-size="{_FONT:g}"')
    for i, name in enumerate(names):
        at = edge + (i + 0.5) * _CELL
        # Along the row and along the column of the same state.
        first, last = edge, edge + n * _CELL
        line = f"M{first:.1f} {at:.1f}H{last:.1f}M{at:.1f} {first:.1f}V{last:.1f}"
        lines += [
            f'<text x="{edge - _GAP:.1f}" y="{at + _FONT / 3:.1f}" text-anchor="end">'
            f"{escaped(name)}</text>",
            f'<text transform="translate({at + _FONT / 3:.1f} {edge - _GAP:.1f}) rotate(-90)">'
            f"{escaped(name)}</text>",
            f'<path stroke="currentColor" opacity="0.15" d="{line}"/>',
        ]
    for i, j in np.argwhere(np.asarray(steps) >= _SMALLEST).tolist():
        p = float(steps[i, j])
        x, y = edge + (j + 0.5) * _CELL, edge + (i + 0.5) * _CELL
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_LARGEST * _CELL * math.sqrt(p):.1f}" '
            f'fill="{_BLUE}"><title>{escaped(names[i])} → {escaped(names[j])}: {p:.2f}</title>'
            "</circle>"
        )
    return "\n".join([*lines, "</svg>"])


def curve_svg(values: np.ndarray) -> str:
    """A small curve from the least to the largest of the values that are finite."""
    width, height = _CURVE
    shown = np.flatnonzero(np.isfinite(values))
    low, high = (values[shown].min(), values[shown].max()) if len(shown) else (0.0, 1.0)
    x = 4 + shown / max(len(values) - 1, 1) * (width - 8)
    y = height - 4 - (values[shown] - low) / ((high - low) or 1.0) * (height - 8)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    last = f'<circle cx="{x[-1]:.1f}" cy="{y[-1]:.1f}" r="3" fill="{_BLUE}"/>' if len(x) else ""
    said = f"from {values[shown[0]]:.6g} to {values[shown[-1]]:.6g}" if len(shown) else "no numbers"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img"><title>{said}</title>'
        f'<path d="M4 {height - 4:g}H{width - 4:g}" stroke="currentColor" opacity="0.3"/>'
        f'<polyline points="{points}" fill="none" stroke="{_BLUE}" stroke-width="2"/>{last}</svg>'
    )
