"""``.. front-picture:: words``: what the code of that section of the front page finds, drawn."""

from html import escape

import numpy as np
from docutils import nodes
from front_code import found_by
from sphinx.util.docutils import SphinxDirective

from sklearn_cvb.display import PhraseTree, TaggedSentence

# The plot of numbers in its axes, and a step's width there.
LEFT, WIDTH, HEIGHT, FOOT, STEP = 62, 590, 150, 40, 1.9
INK = ("#2f7fc1", "#d1802f")


def of_words(names):
    """A sentence with its tags."""
    return TaggedSentence.from_estimator(names["tagger"], names["sentence"])._repr_html_()


def of_grammars(names):
    """A tree."""
    sentence = ["they", "saw", "the", "man", "with", "the", "hat"]
    return PhraseTree(names["parser"].predict([sentence])[0])._repr_html_()


def of_numbers(names):
    """A series over bands in the colours of its states, and its forecast, in axes."""
    series, model, forecast = names["series"], names["model"], names["forecast"]
    lowest, highest = np.nanmin(series) - 5, np.nanmax(series) + 5

    def height(value):
        return HEIGHT * (highest - value) / (highest - lowest)

    def points(steps, values):
        heights = map(height, values)
        return " ".join(f"{STEP * t:.1f},{y:.1f}" for t, y in zip(steps, heights, strict=True))

    states, steps = model.predict([series])[0], np.arange(len(series))
    ends = [*(np.flatnonzero(np.diff(states)) + 1), len(series)]
    begins = [0, *ends[:-1]]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-LEFT} -4 {LEFT + WIDTH} '
        f'{HEIGHT + FOOT + 4}" role="img" fill="currentColor" font-family="system-ui, sans-serif" '
        f'font-size="14" style="width:100%;max-width:{LEFT + WIDTH}px;height:auto">',
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
    return "\n".join([*lines, *_axes(height, len(steps)), "</svg>"])


def _axes(height, n_steps):
    """Lines, ticks and names of both axes."""
    lines = [f'<path d="M0,0 V{HEIGHT} H{STEP * n_steps:.0f}" fill="none" stroke="currentColor"/>']
    for value in (20, 40, 60):
        y = height(value)
        lines += [
            f'<path d="M-5,{y:.1f} H0" stroke="currentColor"/>',
            f'<text x="-9" y="{y + 5:.1f}" text-anchor="end">{value}</text>',
        ]
    for step in range(0, n_steps + 1, 100):
        x = f"{STEP * step:.0f}"
        lines += [
            f'<path d="M{x},{HEIGHT} v5" stroke="currentColor"/>',
            f'<text x="{x}" y="{HEIGHT + 19}" text-anchor="middle">{step}</text>',
        ]
    lines += [
        f'<text x="{STEP * n_steps / 2:.0f}" y="{HEIGHT + 36}" text-anchor="middle">step</text>',
        f'<text transform="translate({14 - LEFT},{HEIGHT / 2:.0f}) rotate(-90)" '
        'text-anchor="middle">temperature</text>',
    ]
    return lines


_NUMBERS = (
    "A temperature, missing for ten steps, over the states that were found; at the end its forecast"
)
PICTURES = {
    "words": (of_words, "What the code above prints: the tag of each word."),
    "numbers": (of_numbers, f"{_NUMBERS}."),
    "grammars": (of_grammars, "The tree that the code above prints."),
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
