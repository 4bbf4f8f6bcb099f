"""Compiling beforehand: all situations run, what is compiled is kept, and a first fit says so."""

import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
import threading
from multiprocessing import current_process

import numba
import pytest
from sklearn.base import BaseEstimator

import sklearn_cvb
from sklearn_cvb import EMHMM, EMHMMTagger
from sklearn_cvb.compilation import announcement
from sklearn_cvb.compilation.cases import EVERY_SITUATION, SITUATIONS
from sklearn_cvb.compile import command_line, compile_for, main
from sklearn_cvb.messages import somebody_reads_errors
from sklearn_cvb.settings import MiniBatches, Setting

ESTIMATORS = [
    name
    for name in sklearn_cvb.__all__
    if inspect.isclass(getattr(sklearn_cvb, name))
    and issubclass(getattr(sklearn_cvb, name), BaseEstimator)
    and not issubclass(getattr(sklearn_cvb, name), Setting)
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def nothing_said(monkeypatch):
    monkeypatch.setattr(announcement, "_said", threading.Event())


def kernel(module="sklearn_cvb.kernels.some"):
    """A function as of this package that has not been compiled."""

    def successor(n):
        return n + 1

    successor.__module__ = module
    return numba.njit(successor)


# Situations


def test_every_estimator_has_situations():
    assert sorted(EVERY_SITUATION) == sorted(ESTIMATORS)


def is_setting(value):
    return isinstance(value, Setting)


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_parameter_that_chooses_kernels_is_set_in_some_situation(name):
    used = {key for situation in SITUATIONS[name].values() for key in situation.settings}
    kind = getattr(sklearn_cvb, name)
    choosing = {"transitions", "tag_dictionary", "grammar"}
    assert choosing & set(inspect.signature(kind).parameters) <= used
    if "update" in kind._parameter_constraints:
        choices, *objects = kind._parameter_constraints["update"]
        default = inspect.signature(kind).parameters["update"].default
        settings = [situation.settings for situation in SITUATIONS[name].values()]
        chosen = {each.get("update", default) for each in settings}
        # What None is for symbols, and what stepwise EM is by default.
        usual = "sequence" if name.startswith("CVB") else "token"
        words = {usual if value is None else value for value in chosen if not is_setting(value)}
        if any(isinstance(value, MiniBatches) for value in chosen):
            words.add("sequence")
        assert words == choices.options
        assert {type(value) for value in chosen if is_setting(value)} == set(objects) - {None}


@pytest.mark.process
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_situation_of_an_estimator_compiles_once(name):
    for title, situation in EVERY_SITUATION[name].items():
        compile_for(situation)
        assert compile_for(situation) == 0, title


# The command


def _run(folder, *arguments):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.process
def test_what_is_compiled_is_kept_and_found_by_the_next_process(tmp_path):
    command = ["-m", "sklearn_cvb.compile", "--only", "EMAlignmentHMM:raw"]
    line, total, kept = _run(tmp_path, *command).stdout.splitlines()
    (number,) = re.fullmatch(
        r"EMAlignmentHMM: 1 situations, (\d+) functions compiled, \d+\.\d s", line
    ).groups()
    assert int(number) >= 10
    assert total.startswith(f"in all {number} functions, ")
    assert kept == f"kept in {tmp_path}"
    program = (
        "from sklearn_cvb import EMAlignmentHMM\n"
        "EMAlignmentHMM(max_iter=2, tol=0, verbose=1).fit([(['a', 'b'], ['c', 'd'])] * 3)\n"
        f"from sklearn_cvb.compile import main; main({command[2:]})"
    )
    done = _run(tmp_path, "-c", program)
    assert done.stderr == ""
    assert ", 0 functions compiled," in done.stdout


def test_the_seconds_of_each_class_and_of_all_are_printed(monkeypatch, capsys):
    looks = iter([0.0, 1.0, 3.5, 4.0, 8.0, 10.5])
    monkeypatch.setattr("sklearn_cvb.compile.perf_counter", lambda: next(looks))
    monkeypatch.setattr("sklearn_cvb.compile.compile_for", lambda situation: 2)
    main(["--only", "EMHMM:none,EMAlignmentHMM:raw"])
    assert capsys.readouterr().out.splitlines()[:3] == [
        "EMHMM: 1 situations, 2 functions compiled, 2.5 s",
        "EMAlignmentHMM: 1 situations, 2 functions compiled, 4.0 s",
        "in all 4 functions, 10.5 s",
    ]


def test_wildcards_choose_families():
    chosen = command_line().parse_args(["--only", "*PCFG,EMHMM*:none"]).only
    grammars = [name for name in ESTIMATORS if "PCFG" in name]
    assert sorted(chosen) == sorted([*grammars, "EMHMM", "EMHMMTagger"])
    assert chosen["EMHMM"] == [SITUATIONS["EMHMM"]["none"]]
    assert chosen["EMPCFG"] == list(SITUATIONS["EMPCFG"].values())


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("EMHMN", "unknown 'EMHMN': choose from EMHMM, EMHMMTagger, "),
        ("EMHMM:windows", "unknown situation 'windows' of EMHMM: choose from none, "),
    ],
)
def test_an_unknown_name_exits_with_2_and_a_message(chosen, message, capsys):
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["--only", chosen])
    assert message in capsys.readouterr().err


# What a fit says


@pytest.mark.process
@pytest.mark.usefixtures("nothing_said")
@pytest.mark.parametrize(("seconds", "said"), [(6, "up to about 6 s"), (None, "some seconds")])
def test_the_first_function_that_is_compiled_is_announced_and_no_other(seconds, said):
    lines = []
    for _ in range(2):
        with announcement.announced(lines.append, seconds):
            assert lines[1:] == []
            first, second = kernel(), kernel()
            assert first(1) == second(1) == first(1) == 2
    assert lines == [f"compiling, once: {said}"]


@pytest.mark.process
@pytest.mark.usefixtures("nothing_said")
def test_functions_of_others_are_not_announced():
    lines = []
    with announcement.announced(lines.append, None):
        kernel("another.module")(1)
        kernel("sklearn_cvb_of_another")(1)
    assert lines == []
    kernel()(1)  # not watched any more
    assert lines == []


@pytest.mark.process(usual=True)
@pytest.mark.usefixtures("nothing_said")
@pytest.mark.parametrize(
    ("stream", "verbose", "is_said"),
    [(Terminal, 0, True), (io.StringIO, 1, True), (io.StringIO, 0, False)],
)
def test_a_fit_tells_a_terminal_or_where_it_is_verbose(stream, verbose, is_said, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    with announcement.announced_fit(EMHMMTagger(), verbose):
        kernel()(1)
    seconds = announcement.SECONDS["EMHMM"]
    expected = f"compiling, once: up to about {seconds} s\n" if is_said else ""
    assert sys.stderr.getvalue() == expected


PLAIN_FIT = """
from sklearn_cvb import EMHMM
for n in (2, 3):
    EMHMM(n, max_iter=2, tol=0, random_state=0).fit([["a", "b", "a"], ["b", "a"]])
"""


def on_a_terminal(program, folder):
    """What a program of its own writes on its standard error, which is a pseudo-terminal."""
    ours, theirs = os.openpty()
    settings = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    with subprocess.Popen([sys.executable, "-c", program], stderr=theirs, env=settings) as process:
        os.close(theirs)
        said = b""
        # Linux reports an error where the other end is closed.
        with contextlib.suppress(OSError):
            while read := os.read(ours, 1000):
                said += read
    os.close(ours)
    assert process.returncode == 0, said.decode()
    return said.decode().splitlines()


@pytest.mark.process(usual=True)
@pytest.mark.long
def test_a_first_fit_on_a_terminal_says_once_that_it_compiles(tmp_path):
    line = f"compiling, once: up to about {announcement.SECONDS['EMHMM']} s"
    assert on_a_terminal(PLAIN_FIT, tmp_path) == [line]
    # With all on disk nothing is compiled.
    assert on_a_terminal(PLAIN_FIT, tmp_path) == []


@pytest.mark.usefixtures("nothing_said")
def test_workers_leave_the_terminal_alone(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert somebody_reads_errors()
    monkeypatch.setattr(current_process(), "_name", "LokyProcess-1")
    assert not somebody_reads_errors()


def test_seconds_are_known_of_every_estimator_and_of_classes_made_from_them():
    # A classifier's models say it themselves.
    kinds = [getattr(sklearn_cvb, name) for name in SITUATIONS]
    assert all(0 < announcement.seconds_of(kind) < 100 for kind in kinds)
    assert announcement.seconds_of(type("Mine", (EMHMM,), {})) == announcement.SECONDS["EMHMM"]
    assert announcement.seconds_of(BaseEstimator) is None
