"""What the code on the front page finds: it is run, so that pictures show what the page says."""

import contextlib
import doctest
import io
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "index.rst"


def found_by(section):
    """The names that the code of a section leaves."""
    text = PAGE.read_text("utf-8")
    begin = text.index(f"\n{section.capitalize()}\n---")
    code = doctest.script_from_examples(text[begin : text.index("**Go on:**", begin)])
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, names)
    return names
