"""``.. front-figure::``: accuracy and time of the algorithms, from the figures of the README."""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FIGURES = Path(__file__).resolve().parents[2] / "benchmarks" / "readme.json"
WIDTH, ROW, LEFT, BAR = 600, 34, 145, 270
COLOURS = {"CVB token": "#2f7fc1", "CVB sequence": "#2f7fc1"}
# The scale begins here: about what choosing a legal tag at random gets.
LOWEST = 70.0


def picture(rows):
    """A dot for each algorithm, as far right as it is accurate, and its seconds beside it."""
    height = ROW * (len(rows) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'fill="currentColor" font-family="system-ui, sans-serif" font-size="17" '
        f'style="width:100%;max-width:{WIDTH}px;height:auto">',
        "<title>Share of right tags and seconds of a fit, by algorithm</title>",
    ]
    for i, (name, row) in enumerate(rows.items()):
        accuracy, y = float(row["accuracy"].split()[0]), ROW * i
        x = LEFT + BAR * (accuracy - LOWEST) / (100 - LOWEST)
        colour = COLOURS.get(name, "currentColor")
        faint = 1 if name in COLOURS else 0.45
        lines += [
            f'<text x="{LEFT - 10}" y="{y + 23}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y + 5}" width="{BAR}" height="24" opacity="0.08"/>',
            f'<circle cx="{x:.1f}" cy="{y + 17}" r="8" fill="{colour}" opacity="{faint}"/>',
            f'<text x="{LEFT + BAR + 10}" y="{y + 23}">{accuracy:.1f} % in {row["seconds"]} s'
            "</text>",
        ]
    y = ROW * len(rows) + 20
    for share in (70, 80, 90, 100):
        x = LEFT + BAR * (share - LOWEST) / (100 - LOWEST)
        lines.append(
            f'<text x="{x:.0f}" y="{y}" text-anchor="middle" opacity="0.75">{share} %</text>'
        )
    return "\n".join([*lines, "</svg>"])


class FrontFigure(SphinxDirective):
    """The picture and what it shows."""

    def run(self):
        """A figure that is light or dark as the page is."""
        self.env.note_dependency(str(FIGURES))
        stored = json.loads(FIGURES.read_text("utf-8"))["journal"]
        at_random = re.search(r"random gets ([\d.]+)%", stored["text"])[1]
        said = (
            "Tags of 1,000 raw sentences of the Wall Street Journal, learned from them and "
            f"a dictionary alone. Choosing among a word's tags at random gets {at_random} %."
        )
        shown = picture(stored["rows"])
        html = f'<figure class="front">{shown}<figcaption>{said}</figcaption></figure>'
        return [nodes.raw("", html, format="html")]


def setup(app):
    """Add the directive."""
    app.add_directive("front-figure", FrontFigure)
    return {"parallel_read_safe": True}
