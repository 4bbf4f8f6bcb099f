"""The picture of the README: what the code on the site's front page finds, side by side.

``python -m benchmarks.readme`` draws it into ``doc/images/readme.png``, on paper of its own, so
that light and dark pages show the same.
"""

import io
import runpy
from itertools import pairwise
from pathlib import Path

import numpy as np

from sklearn_cvb.display import PhraseTree
from sklearn_cvb.display.arcs import SIZES

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "doc" / "images" / "readme.png"
TITLES = {
    "words": "Raw text and a word list: tags",
    "numbers": "Series: regimes, gaps, forecasts",
    "grammars": "Sentences and bare rules: trees",
}
# Inches, pixels an inch, and how many colours the file has.
_SIZE, _DPI, _N_COLOURS = (11.0, 2.5), 160, 48
_INK = ("#2f7fc1", "#d1802f")
_SENTENCE = ["they", "saw", "the", "man", "with", "the", "hat"]


def found():
    """By section of the front page, the names that its code leaves."""
    found_by = runpy.run_path(str(ROOT / "doc" / "extensions" / "front_code.py"))["found_by"]
    return {section: found_by(section) for section in TITLES}


def draw(names, path=PICTURE):
    """Draw the three side by side, and save them in few colours.

    `names`: what `found` gives.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from PIL import Image

    with mpl.rc_context({"font.family": "DejaVu Sans", "font.size": 10}):
        figure = Figure(figsize=_SIZE, dpi=_DPI, facecolor="white")
        left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1.35, 1.1])
        for axes, section in zip((left, middle, right), TITLES, strict=True):
            axes.set_title(TITLES[section], fontsize=11, fontweight="bold", pad=9)
            _DRAWN[section](axes, names[section])
        figure.subplots_adjust(0.015, 0.19, 0.99, 0.86, wspace=0.16)
        pixels = io.BytesIO()
        figure.savefig(pixels, dpi=_DPI)
    few = Image.open(pixels).convert("RGB").quantize(_N_COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def draw_words(axes, names):
    """Each word over its tag, in two lines; one word with two tags has two colours."""
    sentence = names["sentence"]
    tags = names["tagger"].predict([sentence])[0]
    axes.axis("off")
    axes.set(xlim=(0, 4), ylim=(0, 2))
    for i, (word, tag) in enumerate(zip(sentence, tags, strict=True)):
        x, y = i % 4 + 0.5, 1.55 - i // 4
        colour = {"MD": _INK[1], "NN": _INK[0]}.get(tag, "#e4e4e4")
        ink = "black" if colour == "#e4e4e4" else "white"
        axes.text(x, y + 0.08, word, ha="center", va="bottom", fontsize=14)
        box = {"boxstyle": "round,pad=0.25", "facecolor": colour, "edgecolor": "none"}
        axes.text(x, y - 0.1, tag, ha="center", va="top", fontsize=9.5, color=ink, bbox=box)


def draw_numbers(axes, names):
    """The series over bands of its states, and the forecast after it."""
    series, forecast = names["series"][:, 0], names["forecast"]
    states = names["model"].predict([names["series"]])[0]
    ends = [0, *(np.flatnonzero(np.diff(states)) + 1), len(series)]
    for begin, end in pairwise(ends):
        axes.axvspan(begin, end, color=_INK[states[begin]], alpha=0.25, linewidth=0)
    axes.plot(series, color="black", linewidth=1)
    ahead = len(series) + np.arange(forecast.lower.shape[1])
    lower, upper = forecast.lower[0, :, 0], forecast.upper[0, :, 0]
    axes.fill_between(ahead, lower, upper, color=_INK[states[-1]], linewidth=2)
    axes.set(xlim=(0, ahead[-1] + 2), xlabel="step", ylabel="temperature", yticks=[20, 40, 60])
    axes.spines[["top", "right"]].set_visible(False)


def draw_tree(axes, names):
    """The tree of a sentence."""
    tree = PhraseTree(names["parser"].predict([_SENTENCE])[0]).drawing()
    axes.axis("off")
    axes.set(xlim=(0, tree.width), ylim=(tree.bottom, tree.top))
    for stroke in tree.strokes:
        points = [point for _, places in stroke.steps for point in places]
        axes.plot(*zip(*points, strict=True), color="#888888", linewidth=1)
    for text in tree.texts:
        size = 12 * SIZES[text.kind]
        axes.text(text.x, text.y, text.text, ha="center", va="baseline", fontsize=size)


_DRAWN = {"words": draw_words, "numbers": draw_numbers, "grammars": draw_tree}
