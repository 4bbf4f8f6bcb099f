"""Mistakes planted in the core, drawn at random, and which tests find them.

``python -m benchmarks.planted_mistakes draw`` lists the mistakes: ten a layer, of four kinds (a
sign, an index, a comparison, a dropped term), the same for the same seed and source.
``python -m benchmarks.planted_mistakes run --folder DIR`` plants one after the other in a copy of
the project in DIR, and runs tests until one fails: first those of the folder that mirrors the
module, then README's run, then what that leaves out. A line of its table says which of them found
the mistake. One that changes nothing (found by none, and by reading the code) is drawn again:
``--without NAME,NAME`` leaves it out.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.timing import ROOT

sys.path.insert(0, str(ROOT / "tests"))
from house_rules import imports_of, modules, wing_of

LAYERS = {
    "kernels": ("kernels",),
    "learning": ("learning",),
    "families": ("chain", "emissions", "grammar", "dependency", "treebank", "alignment"),
    "reading": ("reading", "settings.py"),
}
_A_LAYER, _KINDS = 10, ("sign", "index", "comparison", "term")
_SIGNS = {ast.Add: "-", ast.Sub: "+"}
_COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
}


class Mistake(NamedTuple):
    """A place in a file, and what stands there instead of what is right.

    Attributes
    ----------
    file : str
        Relative to the package.
    line : int
    kind : str
        "sign", "index", "comparison" or "term".
    begin, end : int
        Offsets of the text that is replaced.
    right, wrong : str
    """

    file: str
    line: int
    kind: str
    begin: int
    end: int
    right: str
    wrong: str


def _is_text(node: ast.AST) -> bool:
    """Whether a term is text, or holds some: joined texts are messages."""
    return any(
        isinstance(one, ast.JoinedStr)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in ast.walk(node)
    )


def _replacements(node: ast.AST, text_of) -> Iterator[tuple[str, ast.AST, str]]:
    """Kind, node that is replaced, and what stands there then."""
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS and not _is_text(node):
        left, right = text_of(node.left), text_of(node.right)
        yield "sign", node, f"({left}) {_SIGNS[type(node.op)]} ({right})"
        yield "term", node, f"({left})"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        if isinstance(node.slice.value, int):
            yield "index", node.slice, str(node.slice.value + 1)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
        yield "index", node.slice, f"{node.slice.id} - 1"
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        sides = text_of(node.left), text_of(node.comparators[0])
        yield (
            "comparison",
            node,
            f" {_COMPARISONS[type(node.ops[0])]} ".join(map("({})".format, sides)),
        )


def _inside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that are computed with: no types, no messages of errors, no assertions."""

    def inside(node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.arguments | ast.AnnAssign):
            return
        yield node
        for child in ast.iter_child_nodes(node):
            yield from inside(child)

    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                yield from inside(statement)


def candidates(layer: str) -> list[Mistake]:
    """All mistakes that can be planted in a layer, in the order of its files."""
    package, found = ROOT / "sklearn_cvb", {}
    files = [
        file
        for name in LAYERS[layer]
        for file in ([package / name] if name.endswith(".py") else (package / name).rglob("*.py"))
    ]
    for file in sorted(files):
        parts = file.relative_to(package).with_suffix("").parts
        if wing_of(".".join(part for part in parts if part != "__init__")) != "core":
            continue
        text = file.read_text(encoding="utf-8")
        begins = [0]
        for line in text.encode().splitlines(keepends=True):
            begins.append(begins[-1] + len(line))

        def place(node: ast.AST, begins: list[int] = begins) -> tuple[int, int]:
            first, last = begins[node.lineno - 1], begins[node.end_lineno - 1]
            return first + node.col_offset, last + node.end_col_offset

        def text_of(node: ast.AST, text: str = text, place=place) -> str:
            begin, end = place(node)
            return text.encode()[begin:end].decode()

        for node in _inside_functions(ast.parse(text)):
            for kind, replaced, wrong in _replacements(node, text_of):
                name, (begin, end) = str(file.relative_to(package)), place(replaced)
                one = Mistake(name, node.lineno, kind, begin, end, text_of(replaced), wrong)
                found[one[:5]] = one
    return list(found.values())


def drawn(seed: int, without: frozenset[str]) -> list[tuple[str, Mistake]]:
    """Ten mistakes a layer by their names: kinds take turns, and then files, as far as they go."""
    rng, chosen = random.Random(seed), []
    for layer in LAYERS:
        found = candidates(layer)
        left = [one for one in rng.sample(found, len(found)) if _name(one) not in without]
        uses = Counter()
        for turn in range(_A_LAYER):
            kind = _KINDS[turn % len(_KINDS)]
            one = min((one for one in left if one.kind == kind), key=lambda one: uses[one.file])
            left.remove(one)
            uses[one.file] += 1
            chosen.append((_name(one), one))
    return chosen


def _name(mistake: Mistake) -> str:
    return f"{mistake.file}:{mistake.line}:{mistake.kind}"


def _shown(name: str, mistake: Mistake) -> str:
    right, wrong = (" ".join(text.split()) for text in (mistake.right, mistake.wrong))
    return f"{name}: {right} -> {wrong}"


# What is not marked: README's run has all of it (tests/tiers.py).
_UNMARKED = "not process and not long and not pages"


# Where else the mistakes of a layer are likely to be seen.
_BESIDE = {
    "kernels": ("tests/learning",),
    "learning": ("tests/learning", "tests/chain"),
    "reading": ("tests/reading", "tests/estimators"),
}


def _near(file: str, copy: Path) -> list[str]:
    """Arguments for unmarked tests of the folders that mirror a module's, and of those beside."""
    parts = Path(file).parent.parts or ("reading",)
    mirrors = [Path("tests", *parts[:n]) for n in range(len(parts), 0, -1)]
    if parts[0] == "kernels":
        mirrors.append(Path("tests", *{"tree": ("grammar",)}.get(parts[-1], parts[1:])))
    folders = [
        str(folder) for folder in mirrors if (copy / folder).is_dir() and folder.name != "tests"
    ]
    beside = _BESIDE.get(parts[0], ("tests/learning",))
    return ["-n0", "-m", _UNMARKED, *dict.fromkeys([*folders, *beside])]


def _finds(copy: Path, cache: Path, arguments: list[str], limit: float) -> str:
    """The first test that fails, "" if none does; too long a run is a failure, too."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
    environment = os.environ | {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(cache)}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return "(never ends)"
    if done.returncode in (0, 5):
        return ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else "(breaks off)"


def _found_by(copy: Path, cache: Path, file: str, limit: float) -> tuple[str, str]:
    """Which run finds a mistake in a file, and by which test."""
    stages = {"near": _near(file, copy), "default": [], "rest": ["--rest"]}
    for stage, arguments in stages.items():
        test = _finds(copy, cache, arguments, limit)
        if test:
            return stage, test
    return "none", ""


def _of_others(folder: Path, file: str) -> Path:
    """Compiled code without that of a kernel's module and of all that call it: these hold it."""
    stale = {".".join(Path(file).with_suffix("").parts)}
    kernels = [name for name in modules() if name.startswith("kernels.")]
    while more := {
        name for name in kernels if name not in stale and stale & {m for m, _ in imports_of(name)}
    }:
        stale |= more
    names = {f"{name.rpartition('.')[2]}.*" for name in stale}
    cache = folder / "cache_of_kernels"
    shutil.copytree(folder / "cache", cache, ignore=shutil.ignore_patterns(*names))
    return cache


def run(folder: Path, mistakes: list[tuple[str, Mistake]], limit: float) -> None:
    """Plant each, and print who finds it; what is known from a run before is not run again."""
    copy, known_file = folder / "copy", folder / "found.json"
    (folder / "cache").mkdir(exist_ok=True)
    if not copy.exists():
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=ignored)
    known = json.loads(known_file.read_text()) if known_file.exists() else {}
    for name, one in mistakes:
        if name not in known:
            file, original = (root / "sklearn_cvb" / one.file for root in (copy, ROOT))
            right, times = original.read_bytes(), file.stat()
            file.write_bytes(right[: one.begin] + one.wrong.encode() + right[one.end :])
            is_kernel = one.file.startswith("kernels/")
            cache = _of_others(folder, one.file) if is_kernel else folder / "cache"
            known[name] = _found_by(copy, cache, one.file, limit)
            file.write_bytes(right)
            # Compiled code goes by the time of its file.
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
            if is_kernel:
                shutil.rmtree(cache, ignore_errors=True)
            known_file.write_text(json.dumps(known, indent=1))
        print(f"{known[name][0]:8} {_shown(name, one)}   {known[name][1]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("draw", "run"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", default="", help="names of mistakes that change nothing")
    parser.add_argument("--folder", type=Path, default=Path("planted"))
    parser.add_argument("--only", default="", help="a layer")
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds of a run of tests")
    asked = parser.parse_args()
    mistakes = drawn(asked.seed, frozenset(asked.without.split(",")))
    if asked.only:
        mistakes = [pair for pair in mistakes if pair[1] in candidates(asked.only)]
    if asked.command == "draw":
        for pair in mistakes:
            print(_shown(*pair))
    else:
        asked.folder.mkdir(parents=True, exist_ok=True)
        run(asked.folder, mistakes, asked.limit)


if __name__ == "__main__":
    main()
