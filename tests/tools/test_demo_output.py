"""The main job's output: what terminals and pipes get, pictures, and what may go wrong there."""

import ctypes
import io
import os
import re
import select
import signal
import struct
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from sklearn_cvb.__main__ import main
from sklearn_cvb.demo import display as shown_by
from sklearn_cvb.demo.display import RichDisplay, TableRow

TINY = ["--sentences", "30", "--restarts", "2", "--max-iter", "3", "--gibbs-sweeps", "5"]
ON_POSIX = pytest.mark.skipif(os.name == "nt", reason="signals and terminals are of POSIX")
_CONTROL = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


def _command(*arguments):
    return [sys.executable, "-m", "sklearn_cvb", *arguments]


class _Screen:
    """What a terminal shows: lines, broken at its width, that later output may overwrite."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column = columns, [[]], 0, 0

    def feed(self, text):
        while text:
            control = _CONTROL.match(text)
            if control:
                self._obey(control[0])
                text = text[control.end() :]
            else:
                self._put(text[0])
                text = text[1:]

    def _obey(self, control):
        if control.endswith("A"):
            self.row = max(0, self.row - int(control[2:-1] or 1))
        elif control == "\x1b[2K":
            self.lines[self.row] = []

    def _put(self, character):
        if character == "\r":
            self.column = 0
            return
        if character == "\n" or self.column == self.columns:
            self.row, self.column = self.row + 1, 0
        if self.row == len(self.lines):
            self.lines.append([])
        if character != "\n":
            line = self.lines[self.row]
            line.extend(" " * (self.column + 1 - len(line)))
            line[self.column] = character
            self.column += 1

    def __str__(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


def _on_terminal(columns, tmp_path, *arguments, interrupt_after=None):
    """Run the main job in a terminal; returns what it shows in the end, exit status, and output.

    Ctrl-C is pressed once `interrupt_after` matches what has been shown.
    """
    import fcntl
    import pty
    import termios

    process, leader = pty.fork()
    if not process:
        os.chdir(tmp_path)
        # Who starts tests in the background may have told children to ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        hidden = ("NO_COLOR", "COLUMNS", "LINES")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.execve(sys.executable, _command(*arguments), environment | {"TERM": "xterm-256color"})
    screen, shown = _Screen(columns), b""
    try:
        while select.select([leader], [], [], 300)[0]:
            piece = os.read(leader, 65536)
            if not piece:
                break
            shown += piece
            if interrupt_after and re.search(interrupt_after, shown.decode(errors="replace")):
                os.write(leader, b"\x03")
                interrupt_after = None
    except OSError:  # Linux reports the end of a terminal's output as an error.
        pass
    os.close(leader)
    screen.feed(shown.decode())
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return str(screen), status, shown.decode()


@pytest.mark.parametrize("has_paper", [False, True])
def test_the_table_fits_in_80_columns(has_paper):
    from rich.console import Console

    from sklearn_cvb.demo.experiment import HeldOutScores, RestartScore
    from sklearn_cvb.demo.published import PublishedResult

    display = RichDisplay(has_paper)
    display.console.width = 80
    restarts = (RestartScore(0.871, 1.25, ()), RestartScore(0.899, 1.5, ()))
    unseen = HeldOutScores(0.9321, 0.4567, 1234.56, None)
    display.show(TableRow("cvb-sequence", restarts, unseen, PublishedResult(81.4, 0.9)), True)
    file = io.StringIO()
    Console(file=file, width=80).print(display.rendered())
    shown = file.getvalue()
    assert "…" not in shown
    for text in ("CVB sequence", "88.5 (1.98)", "perplexity", "1,234.6"):
        assert text in shown
    assert ("81.4 (0.9)" in shown) == has_paper


@pytest.mark.long
def test_the_table_says_when_kernels_compile(tmp_path, monkeypatch):
    import numba
    from rich.console import Console

    display, shown = RichDisplay(False), {}

    def table():
        file = io.StringIO()
        Console(file=file, width=80).print(display.rendered())
        return re.sub(r"[│\s]+", " ", file.getvalue())

    def compiles(name, text, settings):
        def successor(n):
            return n + 1

        shown["before"] = table()
        successor.__module__ = "sklearn_cvb.kernels.some"
        assert numba.njit(successor)(1) == 2
        shown["meanwhile"] = table()

    monkeypatch.setattr("sklearn_cvb.__main__.warm_up", compiles)
    monkeypatch.setattr("sklearn_cvb.__main__.display_for", lambda has_paper: display)
    main([*TINY, "--algorithms", "vb", "--output", str(tmp_path / "curve.png")])
    assert " VB compiling " in shown["meanwhile"]
    assert "compiling" not in shown["before"] + table()


@pytest.mark.process
@ON_POSIX
def test_terminals_show_a_live_table_and_break_no_word(tmp_path):
    """A wide one until the end, and one of 80 columns until Ctrl-C."""
    wide, status, raw = _on_terminal(400, tmp_path, *TINY, "--algorithms", "em,cvb-token")
    assert status == 0, wide
    assert "\x1b[" in raw
    assert "sweeps" in raw
    for text in ("accuracy %", "CVB token", "tagged by", "accuracy by sweep"):
        assert text in wide
    endless = ["--algorithms", "em,gibbs", "--gibbs-sweeps", "100000000"]
    interrupt = {"interrupt_after": r"Gibbs: 2 starts.*[1-9]\d* of"}
    narrow, status, _ = _on_terminal(80, tmp_path, *TINY, *endless, **interrupt)
    assert status == 130
    # Ctrl-C leaves one table.
    assert len(re.findall("^┏", narrow, re.MULTILINE)) == 1, narrow
    for text in ("│ EM ", "accuracy by sweep: ", "interrupted", "tagged by EM"):
        assert narrow.count(text) == 1, narrow
    # The first of both may have to compile.
    shown = [re.sub(r"compiling, once: up to about \d+ s", "", text) for text in (narrow, wide)]
    sentences = [text[: text.index("┏")] for text in shown]
    assert sentences[0].split() == sentences[1].split()
    assert sentences[0].count("\n") > sentences[1].count("\n")


def test_ctrl_c_is_heeded_where_c_calls_python(tmp_path, monkeypatch, capsys):
    set_for_later = []

    class Timer:
        def __init__(self, seconds, function):
            self.start = partial(set_for_later.append, function)

    @ctypes.CFUNCTYPE(None)
    def called_by_c():
        raise KeyboardInterrupt

    def compiles(name, text, settings):
        called_by_c()
        (interrupt,) = set_for_later
        interrupt()
        for _ in range(100):
            pass
        raise AssertionError("not interrupted")

    monkeypatch.setattr("sklearn_cvb.__main__.threading.Timer", Timer)
    monkeypatch.setattr("sklearn_cvb.__main__.warm_up", compiles)
    hook = sys.unraisablehook
    assert main([*TINY, "--output", str(tmp_path / "curve.png")]) == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert sys.unraisablehook is hook


@pytest.mark.process
@ON_POSIX
def test_a_closed_pipe_ends_the_job_in_one_line(tmp_path):
    with subprocess.Popen(
        _command(*TINY, "--algorithms", "em,gibbs", "--gibbs-sweeps", "100000"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert errors == "stopped: nobody reads the output any more\n"
    assert process.returncode == 141
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_named_in_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            _command(*TINY, "--algorithms", "em"),
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert re.fullmatch(r"python -m sklearn_cvb: error: .*No space left.*\n", done.stderr)


@pytest.mark.process
@ON_POSIX
def test_without_standard_output_the_picture_is_saved(tmp_path):
    program = f"exec '{sys.executable}' -m sklearn_cvb {' '.join(TINY)} --algorithms em >&-"
    done = subprocess.run(program, shell=True, cwd=tmp_path, capture_output=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "sklearn_cvb_accuracy.png").exists()


def test_words_that_the_encoding_lacks_are_escaped(tmp_path, monkeypatch):
    path, output = tmp_path / "text.txt", io.BytesIO()
    path.write_text("naïve/JJ 日本/NNP\n" * 12, encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding="ascii"))
    picture = str(tmp_path / "curve.png")
    main([*TINY[2:], "--corpus", str(path), "--algorithms", "em", "--output", picture])
    sys.stdout.flush()
    assert rb"na\xefve/JJ \u65e5\u672c/NNP" in output.getvalue()


@pytest.mark.long
@pytest.mark.parametrize(
    ("extension", "beginning"),
    [("jpg", b"\xff\xd8\xff"), ("PNG", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")],
)
def test_the_extension_decides_on_the_format(tmp_path, extension, beginning):
    path = tmp_path / f"curve.{extension}"
    main([*TINY, "--algorithms", "em", "--restarts", "1", "--output", str(path)])
    assert path.read_bytes().startswith(beginning)


def _refused(capsys, monkeypatch, output):
    """The single line about a picture that cannot be saved, before a text is read."""

    def read(*arguments):
        raise AssertionError("a text is read")

    monkeypatch.setattr("sklearn_cvb.__main__.read_text", read)
    with pytest.raises(SystemExit) as exit_info:
        main([*TINY, "--output", str(output)])
    assert exit_info.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith(f"python -m sklearn_cvb: error: --output {output}: ")
    return line


def test_outputs_that_cannot_be_written_are_refused_at_once(tmp_path, capsys, monkeypatch):
    assert "this is a folder" in _refused(capsys, monkeypatch, tmp_path)
    assert "no such folder" in _refused(capsys, monkeypatch, tmp_path / "none" / "a.png")
    assert "cannot be written" in _refused(capsys, monkeypatch, tmp_path / f"{'a' * 300}.png")
    for name in ("curve.doc", "curve"):
        line = _refused(capsys, monkeypatch, tmp_path / name)
        assert line.endswith(f"must end in one of .{', .'.join(shown_by.picture_formats())}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path, capsys, monkeypatch):
    tmp_path.chmod(0o500)
    assert "Permission denied" in _refused(capsys, monkeypatch, tmp_path / "a.png")


def test_the_trial_leaves_an_earlier_picture_as_it_was(tmp_path):
    earlier = tmp_path / "curve.png"
    earlier.write_bytes(b"picture")
    assert shown_by.why_not_saved(earlier) is None
    assert shown_by.why_not_saved(tmp_path / "new.png") is None
    assert earlier.read_bytes() == b"picture"
    assert [path.name for path in tmp_path.iterdir()] == ["curve.png"]


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("extension", shown_by.picture_formats())
def test_every_format_that_is_offered_can_be_saved(tmp_path, extension):
    path = tmp_path / f"curve.{extension}"
    shown_by.save_picture({"EM": ([1, 2], [0.5, 0.6])}, path)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.txt", b"the dog\n", "'the' is not of the form word/TAG"),
        ("text.txt", b"caf\xe9/NN\n", "text.txt, line 1: .*UTF-8"),
        ("text.txt", b"", "text.txt"),
        ("text.conllu", b"1 a\n\n", "text.conllu"),
        ("text.conllu", b"hello there\n\n", "text.conllu"),
        ("text.conllu", b"x\ta\ta\tNN\t_\t_\t0\troot\t_\t_\n\n", "text.conllu"),
    ],
)
def test_a_malformed_corpus_is_named_in_one_line(tmp_path, capsys, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SystemExit) as exit_info:
        main(["--corpus", str(path), "--output", str(tmp_path / "a.png")])
    assert exit_info.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line)
