"""``.. front-picture:: words``: what the code of that section of the front page finds, drawn.

The code itself is run, so that the picture shows what the page says.
"""

import contextlib
import doctest
import io
from html import escape
from pathlib import Path

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from sklearn_cvb.display import PhraseTree, TaggedSentence

PAGE = Path(__file__).resolve().parents[1] / "index.rst"
WIDTH, HEIGHT, STEP, INK = 600, 150, 1.9, ("#2f7fc1", "#d1802f")


def found_by(section):
    """The names that the code of a section leaves."""
    text = PAGE.read_text("utf-8")
    begin = text.index(f"\n{section.capitalize()}\n---")
    code = doctest.script_from_examples(text[begin : text.index("**Go on:**", begin)])
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, names)
    return names


def of_words(names):
    """A sentence with its tags."""
    return TaggedSentence.from_estimator(names["tagger"], names["sentence"])._repr_html_()


def of_grammars(names):
    """A tree."""
    sentence = ["they", "saw", "the", "man", "with", "the", "hat"]
    return PhraseTree(names["parser"].predict([sentence])[0])._repr_html_()


def of_numbers(names):
    """A series over bands in the colours of its states, and its forecast."""
    series, model, forecast = names["series"], names["model"], names["forecast"]
    lowest, highest = np.nanmin(series) - 5, np.nanmax(series) + 5

    def points(steps, values):
        heights = HEIGHT * (highest - values) / (highest - lowest)
        return " ".join(f"{STEP * t:.1f},{y:.1f}" for t, y in zip(steps, heights, strict=True))

    states, steps = model.predict([series])[0], np.arange(len(series))
    ends = [*(np.flatnonzero(np.diff(states)) + 1), len(series)]
    begins = [0, *ends[:-1]]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'style="width:100%;max-width:{WIDTH}px;height:auto">',
        f"<title>{escape(_NUMBERS)}</title>",
    ]
    for begin, end in zip(begins, ends, strict=True):
        lines.append(
            f'<rect x="{STEP * begin:.1f}" width="{STEP * (end - begin):.1f}" height="{HEIGHT}" '
            f'fill="{INK[states[begin]]}" opacity="0.25"/>'
        )
    there = np.flatnonzero(~np.isnan(series[:, 0]))
    for part in np.split(there, np.flatnonzero(np.diff(there) > 1) + 1):
        shown = points(part, series[part, 0])
        lines.append(f'<polyline points="{shown}" fill="none" stroke="currentColor"/>')
    ahead = len(steps) + np.arange(forecast.lower.shape[1])
    fan = points([*ahead, *ahead[::-1]], [*forecast.lower[0, :, 0], *forecast.upper[0, ::-1, 0]])
    lines.append(f'<polygon points="{fan}" fill="{INK[0]}" opacity="0.8"/>')
    return "\n".join([*lines, "</svg>"])


_NUMBERS = "A series with a gap over bands in the colours of its states; its forecast at the end"
PICTURES = {
    "words": (of_words, "The sentence as the tagger tags it."),
    "numbers": (of_numbers, f"{_NUMBERS}."),
    "grammars": (of_grammars, "The tree of the sentence."),
}


class FrontPicture(SphinxDirective):
    """The picture and what it shows."""

    required_arguments = 1

    def run(self):
        """A figure that is light or dark as the page is."""
        draw, said = PICTURES[self.arguments[0]]
        shown = draw(found_by(self.arguments[0]))
        html = f'<figure class="front">{shown}<figcaption>{said}</figcaption></figure>'
        return [nodes.raw("", html, format="html")]


def setup(app):
    """Add the directive."""
    app.add_directive("front-picture", FrontPicture)
    return {"parallel_read_safe": True}
