"""A plugin of pytest: which tests run, and which take long without saying so.

Tests that take time are marked by what takes it (`MARKERS`; pyproject.toml says what each means).
``python -m pytest`` runs what is not marked, and some of each kind that is: the first item of each
function whose marker says ``usual=True``, or as many as it says, with all values of its parameters.
``--rest`` runs what that leaves out, and ``--all`` everything. Who names files or tests, or chooses
with ``-m`` or ``-k``, gets all that was asked for.
"""

import re
from collections import Counter, defaultdict

import pytest

MARKERS = ("process", "long", "many", "pages")
# Seconds from which on a test has to be marked.
_LONG = 2.0
# One that is marked takes as long as so many others.
_MARKED = 10
_GOLDEN = (5**0.5 - 1) / 2
# Situations, and cases of tests, with large kernels that differ from others' by types alone: a run
# without arguments compiles none of them (conftest.py), and keeps no item.
COMPILED_LATER = re.compile(
    "EMPCFG[-:]stepwise (tables|independent)|(two symbols|long terminals|words inside), lists"
    "|test_fixed_rules.*0-CVBPCFG"
)


def pytest_addoption(parser):
    group = parser.getgroup("tiers")
    for name, text in [
        ("all", "run everything"),
        ("rest", "run what a run without arguments leaves out"),
    ]:
        group.addoption(f"--{name}", dest="tier", action="store_const", const=name, help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    # Processes of xdist are told what the first one decides.
    if config.option.tier is None:
        is_asked = (
            config.args_source is not pytest.Config.ArgsSource.TESTPATHS
            or config.option.keyword
            or any(argument.startswith("-m") for argument in config.invocation_params.args)
        )
        config.option.tier = "all" if is_asked else "usual"
    # So that no process is left alone with a long file, xdist takes files in the order of here.
    config.option.loadscopereorder = config.option.tier == "all"
    config.pluginmanager.register(Stopwatch())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    tier = config.option.tier
    if tier == "all":
        return
    usual, rest = split(items)
    kept, left_out = (usual, rest) if tier == "usual" else (rest, usual)
    items[:] = longest_files_first(kept)
    config.hook.pytest_deselected(items=left_out)


def split(items):
    """What a run without arguments runs, and the rest."""
    alike, usual = defaultdict(list), set()
    for item in items:
        alike[item.nodeid.partition("[")[0], _asked_of(item)].append(item)
    for (_, asked), same in alike.items():
        same = [item for item in same if not COMPILED_LATER.search(item.nodeid)]
        usual.update(same if asked is None else chosen(same, asked))
    return [item for item in items if item in usual], [i for i in items if i not in usual]


def chosen(same, n):
    """The first item and others that between them have all values of parameters, or many."""
    # Of items that are as good the next is far from those before.
    left = [same[place] for place in sorted(range(len(same)), key=lambda i: i * _GOLDEN % 1)]
    found, seen = [], Counter()
    while left and len(found) < n:
        rarest = min(left, key=lambda item: _known(seen, item))
        left.remove(rarest)
        found.append(rarest)
        seen.update(_values_of(rarest))
    return found


def _known(seen, item):
    counts = [seen[value] for value in _values_of(item)]
    return sum(map(bool, counts)), sum(counts)


def _values_of(item):
    return list(enumerate(item.nodeid.partition("[")[2].rstrip("]").split("-")))


def longest_files_first(items):
    """The same items; one that is marked counts as much as some that are not."""
    sizes = Counter()
    for item in items:
        sizes[item.path] += 1 if _asked_of(item) is None else _MARKED
    return sorted(items, key=lambda item: -sizes[item.path])


def _asked_of(item):
    """How many items of its function an item's markers let run; None if it has no marker."""
    marks = [mark for mark in item.iter_markers() if mark.name in MARKERS]
    return max((int(mark.kwargs.get("usual", False)) for mark in marks), default=None)


class Stopwatch:
    """Names what took long and is not marked, at the end of a run."""

    def __init__(self):
        self._seconds = defaultdict(float)

    def pytest_runtest_logreport(self, report):
        # Setting up is part of the first item that asks for it.
        if not any(name in report.keywords for name in MARKERS):
            self._seconds[report.nodeid] += report.duration

    def pytest_terminal_summary(self, terminalreporter):
        found = [(seconds, name) for name, seconds in self._seconds.items() if seconds >= _LONG]
        if found:
            terminalreporter.section(f"over {_LONG:.0f} s and not marked (tests/README.md)")
        for seconds, name in sorted(found, reverse=True):
            terminalreporter.line(f"{seconds:.1f} s {name}")
