"""Pictures as SVG and HTML: no script, no outside font, and the colour of the text around."""

from __future__ import annotations

import re
from html import escape

from sklearn_cvb.display import arcs

_PIXELS = 16
# Paper and ink change together, with the reader's light or dark scheme.
_SCHEME = "<style>svg{color-scheme:light dark;color:CanvasText;background:Canvas}</style>"
# XML has no way to write these.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_PAGE = (
    '<!DOCTYPE html>\n<html><head><meta charset="utf-8">'
    '<meta name="color-scheme" content="light dark"><title>{title}</title></head>\n'
    "<body>{body}</body></html>"
)


class Picture:
    """A drawing that notebooks show and files hold, as SVG."""

    def to_svg(self) -> str:
        """The picture as a file of its own.

        Returns
        -------
        str
            SVG, to be written in UTF-8; light or dark as the reader's page is.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sklearn_cvb.display import DependencyTree
        >>> svg = DependencyTree(["we", "ran"], [2, 0]).to_svg()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "tree.svg")
        ...     n_characters = path.write_text(svg, encoding="utf-8")
        """
        return self._svg(standalone=True)

    def _repr_html_(self) -> str:
        """What a notebook shows; what is wide is scrolled."""
        return f'<div style="overflow-x:auto">{self._svg(standalone=False)}</div>'

    def _svg(self, standalone: bool) -> str:
        """The picture, with its own paper where it is standalone, else in the page's colours."""
        raise NotImplementedError


def svg_head(
    width: float, height: float, title: str, looks: str = "", standalone: bool = False
) -> list[str]:
    """How a picture begins; `title` is for those who cannot see it."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="max-width:none" role="img" '
        f'fill="currentColor" font-family="system-ui, sans-serif"{looks}>',
        f"<title>{escaped(title)}</title>",
    ]
    return [*lines, _SCHEME] if standalone else lines


def svg_of(drawing: arcs.ArcDrawing, description: str, standalone: bool) -> str:
    """Write a drawing."""
    width, height = (round(_PIXELS * x, 1) for x in (drawing.width, drawing.top - drawing.bottom))
    lines = svg_head(width, height, description, ' text-anchor="middle"', standalone)
    lines += [_stroke_svg(stroke, drawing.top) for stroke in drawing.strokes]
    for text in drawing.texts:
        looks = {arcs.TAG: ' opacity="0.75"', arcs.CAPTION: ' text-anchor="start"'}.get(
            text.kind, ""
        )
        ((x, y),) = _in_pixels([(text.x, text.y)], drawing.top)
        size = _PIXELS * arcs.SIZES[text.kind]
        lines.append(
            f'<text class="{text.kind}" x="{x}" y="{y}" font-size="{size:g}"{looks}>'
            f"{escaped(text.text)}</text>"
        )
    return "\n".join([*lines, "</svg>"])


def html_page(body: str, title: str) -> str:
    """A page of its own, light or dark as its reader's others are."""
    return _PAGE.format(title=escaped(title), body=body)


def escaped(text: str) -> str:
    """A text as XML has it."""
    return escape(_FORBIDDEN.sub("\ufffd", text))


def _in_pixels(points: list[arcs.Point], top: float) -> list[tuple[float, float]]:
    """SVG counts pixels downwards."""
    return [(round(_PIXELS * x, 1), round(_PIXELS * (top - y), 1)) for x, y in points]


def _stroke_svg(stroke: arcs.Stroke, top: float) -> str:
    """A line, and its tip where it has one."""
    colour = arcs.COLOURS.get(stroke.kind, "currentColor")
    corners = [
        " ".join(f"{x:g},{y:g}" for x, y in _in_pixels(points, top))
        for points in (*(points for _, points in stroke.steps), stroke.tip)
    ]
    path = " ".join(letter + at for (letter, _), at in zip(stroke.steps, corners, strict=False))
    dashes = ""
    if stroke.kind in arcs.DASHES:
        lengths = ",".join(f"{_PIXELS * length:g}" for length in arcs.DASHES[stroke.kind])
        dashes = f' stroke-dasharray="{lengths}"'
    tip = f'<polygon points="{corners[-1]}" fill="{colour}"/>' if stroke.tip else ""
    return (
        f'<g class="{stroke.kind}"><path d="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="{_PIXELS * arcs.STROKE:g}"{dashes}/>{tip}</g>'
    )
