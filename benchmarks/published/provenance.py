"""Where figures come from: day, commit, and a digest of the experiment that found them."""

import ast
import hashlib
import io
import subprocess
import token
import tokenize
from datetime import datetime
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_PACKAGE = "benchmarks.published"
# They show figures, say how experiments are run, or what is to be known before; none finds any.
_NO_PART = {"__main__", "catalogue", "pictures", "provenance", "settings", "tables"}
_LAYOUT = {token.COMMENT, token.NL, token.ENCODING, token.ENDMARKER}
_BLOCKS = {token.INDENT: "{", token.DEDENT: "}"}
# Python 3.11 has f-strings whole, later ones in pieces.
_F_STRING = tuple(getattr(token, f"FSTRING_{end}", -1) for end in ("START", "END"))


def commit():
    """The short hash of HEAD, marked where tracked files differ; None where git knows none."""
    command = ["git", "describe", "--always", "--abbrev=8", "--exclude=*", "--dirty= with changes"]
    try:
        done = subprocess.run(command, cwd=_FOLDER, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def digest(name, read=None):
    """A digest of an experiment: its code and that of the modules beside it that it imports.

    Comments, docstrings and layout make no difference, nor does the version of Python. `read`: the
    source of a module by name, None for the files of this folder.
    """
    read = read or source
    found, waiting = {}, [name]
    while waiting:
        module = waiting.pop()
        if module not in found:
            text = read(module)
            found[module] = statements(text)
            waiting += imported(text) - _NO_PART
    whole = "\n".join(f"{module}\n{found[module]}" for module in sorted(found))
    return hashlib.sha256(whole.encode()).hexdigest()[:16]


def source(module):
    """The text of a module of this folder."""
    return (_FOLDER / f"{module}.py").read_text(encoding="utf-8")


def imported(text):
    """Names of the modules of this package that a source imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == _PACKAGE:
            names |= {f"{_PACKAGE}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
    return {name.removeprefix(f"{_PACKAGE}.") for name in names if name.startswith(f"{_PACKAGE}.")}


def statements(text):
    """The statements of a source, a line each, without comments, docstrings and layout."""
    lines, line = [], []
    for kind, word in _words(text):
        if kind in _BLOCKS:
            lines.append(_BLOCKS[kind])
        elif kind != token.NEWLINE:
            line.append((kind, word))
        else:
            # A text alone does nothing.
            if any(kind != token.STRING for kind, _ in line):
                lines.append(" ".join(word for _, word in line))
            line = []
    return "\n".join(lines)


def _words(text):
    """Kind and text of all tokens; f-strings are whole."""
    lines, depth, begin = text.splitlines(keepends=True), 0, None
    for found in tokenize.generate_tokens(io.StringIO(text).readline):
        if found.type == _F_STRING[0]:
            begin, depth = begin or found.start, depth + 1
        elif found.type == _F_STRING[1]:
            depth -= 1
            if not depth:
                yield token.STRING, _between(lines, begin, found.end)
                begin = None
        elif not depth and found.type not in _LAYOUT:
            yield found.type, found.string


def _between(lines, begin, end):
    """The text from one place (line, column) to another."""
    (first, left), (last, right) = begin, end
    if first == last:
        return lines[first - 1][left:right]
    return "".join([lines[first - 1][left:], *lines[first : last - 1], lines[last - 1][:right]])


def runs_of(results):
    """What was recorded of each part of figures, by day; of the whole where they have no parts."""
    parts = [results, *(part for part in results.values() if isinstance(part, dict))]
    return sorted((part["about"] for part in parts if "about" in part), key=lambda one: one["date"])


def is_quick(results):
    """Whether any of the figures are those of a small version."""
    return any(run["quick"] for run in runs_of(results))


def footer(results):
    """The last lines of a page of tables: days and commits, and the digests in a comment.

    Empty where nothing was recorded.
    """
    runs = runs_of(results)
    if not runs:
        return ""
    first, *rest = dict.fromkeys((_day(run["date"]), _origin(run)) for run in runs)
    if rest:
        made = "from {} ({}) to {} ({})".format(*first, *rest[-1])
    else:
        made = "on {} from {}".format(*first)
    digests = " ".join(sorted({run.get("digest") or "unknown" for run in runs}))
    return f".. provenance\n\nMade {made}.\n\n.. digest: {digests}\n"


def _origin(run):
    return f"commit {run['commit']}" if run.get("commit") else "an unknown commit"


def _day(date):
    at = datetime.fromisoformat(date)
    return f"{at.day} {at:%B %Y}"


def digests_of(page):
    """The digests that a page of tables holds."""
    lines = (line.partition(".. digest: ") for line in page.splitlines())
    return [digest for start, mark, rest in lines if mark and not start for digest in rest.split()]
