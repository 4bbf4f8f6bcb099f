"""The main job: rows, picture, plain lines in a pipe, a live table on a terminal, exit codes."""

import gzip
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numba
import pytest

from sklearn_cvb.__main__ import main
from sklearn_cvb.compilation import announcement
from sklearn_cvb.demo import options
from sklearn_cvb.demo.experiment import DemoSettings, measured_sweeps, run_restarts
from sklearn_cvb.demo.published import published_accuracies
from sklearn_cvb.demo.text import load_text
from sklearn_cvb.display.tagged_words import TaggedWord, tag_words

TINY = ["--sentences", "30", "--restarts", "2", "--max-iter", "3", "--gibbs-sweeps", "5"]
TITLES = {
    "em": "EM",
    "vb": "VB",
    "cvb-token": "CVB token",
    "cvb-sequence": "CVB sequence",
    "gibbs": "Gibbs",
}
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
NO_SIGINT = pytest.mark.skipif(os.name == "nt", reason="signals and terminals are of POSIX")


def _command(*arguments):
    return [sys.executable, "-m", "sklearn_cvb", *arguments]


def _run(tmp_path, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(
        _command(*arguments),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def _row(output, title):
    (line,) = [line for line in output.splitlines() if re.match(rf"{title}\s+\d", line)]
    return line


@pytest.fixture
def tagged_file(tmp_path):
    lines = ["the/DT duck/NN swims/VB", "they/PRP duck/VB", "a/DT dog/NN swims/VB"] * 6
    path = tmp_path / "tagged.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.process
def test_a_pipe_gets_a_row_of_every_algorithm_in_80_columns_and_the_picture_is_saved(tmp_path):
    done = _run(tmp_path, *TINY)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for title in TITLES.values():
        accuracy, deviation = re.search(
            r"(\d+\.\d) \((\d+\.\d\d)\)", _row(done.stdout, title)
        ).groups()
        assert 30 < float(accuracy) <= 100
        assert float(deviation) < 30
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "mean and (standard deviation) over 2 starts" in " ".join(done.stdout.split())
    picture = tmp_path / "sklearn_cvb_accuracy.png"
    assert picture.read_bytes().startswith(PNG_SIGNATURE)
    assert picture.stat().st_size > 5000


def test_selected_algorithms_and_output(tmp_path, capsys):
    picture = tmp_path / "curve.png"
    assert main([*TINY, "--algorithms", "vb,cvb-token", "--output", str(picture)]) == 0
    output = capsys.readouterr().out
    assert _row(output, "VB")
    assert _row(output, "CVB token")
    assert not re.search(r"^(EM|Gibbs|CVB sequence) ", output, re.MULTILINE)
    assert picture.read_bytes().startswith(PNG_SIGNATURE)


@pytest.mark.long
def test_compiling_is_said_once_among_the_other_lines(tmp_path, monkeypatch, capsys):
    def compiles(name, text, settings):
        def successor(n):
            return n + 1

        successor.__module__ = "sklearn_cvb.kernels.some"
        assert numba.njit(successor)(1) == 2

    monkeypatch.setattr(announcement, "_said", threading.Event())
    monkeypatch.setattr("sklearn_cvb.__main__.warm_up", compiles)
    picture = str(tmp_path / "curve.png")
    main([*TINY, "--restarts", "1", "--algorithms", "em,vb", "--output", picture])
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    (place,) = [i for i, line in enumerate(lines) if line.startswith("compiling, once: up to")]
    assert place < lines.index(_row(printed.out, "EM"))
    assert printed.err == ""


@pytest.mark.long
def test_threads_change_nothing(tmp_path, capsys):
    def figures(jobs):
        picture = str(tmp_path / "curve.png")
        main(
            [*TINY, "--restarts", "3", "--jobs", jobs, "--algorithms", "gibbs", "--output", picture]
        )
        return re.findall(r"\d+\.\d \(\d+\.\d\d\)", _row(capsys.readouterr().out, "Gibbs"))

    assert figures("1") == figures("2")


def test_word_tag_file(tagged_file, tmp_path, capsys):
    picture = str(tmp_path / "curve.png")
    arguments = ["--corpus", str(tagged_file), "--algorithms", "cvb-sequence", "--output", picture]
    assert main([*arguments, "--restarts", "1"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("tagged.txt: 18 sentences, 48 tokens, 6 words, 4 tags")
    assert re.search(r"^\S+/(DT|PRP|NN|VB)", output, re.MULTILINE)


@pytest.mark.many
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_conllu_file(tmp_path, capsys, ending):
    sentence = "1\twe\twe\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tran\trun\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    path = tmp_path / f"text.conllu{ending}"
    text = (sentence * 12).encode()
    path.write_bytes(gzip.compress(text) if ending else text)
    arguments = ["--corpus", str(path), "--algorithms", "em", "--output", str(tmp_path / "x.png")]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "12 sentences, 24 tokens, 2 words, 2 tags" in output
    assert "we/PRON ran/VERB" in output


@pytest.mark.long
def test_wall_street_journal_shows_the_published_figures(data_folder, tmp_path, capsys):
    arguments = ["--corpus", "treebank", "--data-home", str(data_folder), "--sentences", "1000"]
    picture = str(tmp_path / "curve.png")
    main(
        [
            *arguments,
            "--restarts",
            "1",
            "--max-iter",
            "2",
            "--algorithms",
            "vb",
            "--output",
            picture,
        ]
    )
    assert "79.2 (1.3)" in _row(capsys.readouterr().out, "VB")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithms", "em,viterbi"], "unknown algorithm 'viterbi'"),
        (["--restarts", "0"], "'0' is not a positive integer"),
        (["--alpha", "vb=x"], "'x' is not a number from 0 up"),
        (["--alpha", "hmm=1"], "unknown algorithm 'hmm'"),
        (["--beta", "nan"], "'nan' is not a number"),
        (["--beta", "vb=0"], "--beta must be above 0 for vb"),
        (["--corpus", "no_such_file.txt"], "no file 'no_such_file.txt'"),
        (["--sentences", "3"], "at least 10 are needed"),
        (["--output", "no_such_folder/a.png"], "there is no such folder"),
        (["--jobs", "0"], "'0' is not a number of threads"),
        (["--nonsense"], "unrecognized arguments"),
    ],
)
def test_bad_arguments_exit_with_2_and_a_message(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    assert message in capsys.readouterr().err


def test_malformed_and_short_files_exit_with_2(tagged_file, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--corpus", str(tagged_file), "--sentences", "19"])
    assert "tagged.txt has 18 sentences, not 19" in capsys.readouterr().err
    tagged_file.write_text("the dog\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        main(["--corpus", str(tagged_file)])
    assert "'the' is not of the form word/TAG" in capsys.readouterr().err


def _settings(monkeypatch, *arguments):
    """The settings that the main job would fit with."""
    from sklearn_cvb import __main__ as job

    monkeypatch.setattr(job, "_run", lambda parser, options, settings: settings)
    return job.main([*arguments])


def test_concentrations_of_a_number_and_by_algorithm(monkeypatch):
    every = _settings(monkeypatch, "--alpha", "0.5")
    assert every.concentrations("em")[0] == every.concentrations("gibbs")[0] == 0.5
    some = _settings(monkeypatch, "--alpha", "vb=2,cvb=0.3", "--beta", "em=0.1")
    assert some.concentrations("vb") == (2, 0.03)
    assert some.concentrations("cvb-token") == some.concentrations("cvb-sequence") == (0.3, 0.03)
    assert some.concentrations("em") == (0, 0.1)
    assert some.concentrations("gibbs") == (1, 0.03)


@pytest.mark.parametrize(
    ("min_count", "betas"),
    [
        (1, (0, 0.03, 0.03, 0.03, 0.03)),
        (2, (0, 0.1, 0.03, 0.03, 0.03)),
        (5, (0, 0.1, 0.01, 0.03, 0.03)),
        (10, (0, 0.1, 0.01, 0.1, 0.03)),
    ],
)
def test_default_concentrations_follow_min_count(min_count, betas):
    settings = DemoSettings({}, {}, min_count, 1, 50, 1500, 1, 0)
    assert tuple(settings.concentrations(name)[1] for name in TITLES) == betas
    assert [settings.concentrations(name)[0] for name in TITLES] == [0, 1, 1, 1, 1]


def test_published_figures_only_where_the_paper_has_them():
    assert published_accuracies("wsj", 3000, False, 1)["cvb-sequence"] == (85.8, 0.3)
    assert published_accuracies("wsj", 14862, True, 1)["gibbs"] == (84.6, 0.1)
    assert published_accuracies("treebank", 1000, False, 10)["em"] == (43.5, 2.4)
    assert published_accuracies("wsj", 2000, False, 2) == {}
    assert published_accuracies("treebank", 3914, True, 1) == {}
    assert published_accuracies("pocket English", 1000, False, 1) == {}


def test_measured_sweeps_are_all_or_run_from_first_to_last():
    assert list(measured_sweeps(50)) == list(range(50))
    many = measured_sweeps(1500)
    assert many[0] == 0
    assert many[-1] == 1499
    assert len(many) <= 60


@pytest.mark.long
def test_the_curve_ends_in_the_accuracy_of_the_fit():
    text = load_text(None, None, 40, 1, 0)
    y = [[None if i % 3 == 0 else tag for i, tag in enumerate(tags)] for tags in text.y]
    settings = DemoSettings({}, {}, 1, 2, 4, 6, 1, 0)
    for name in TITLES:
        first, second = run_restarts(name, text._replace(y=y), settings, lambda: None)
        sweeps, accuracies = first.curve
        assert sweeps == list(range(1, settings.sweeps(name) + 1))
        assert 0.5 < accuracies[0] <= 1
        assert second.curve == ([], [])
        if name != "gibbs":  # whose tags are those of its last sweeps together
            assert accuracies[-1] == pytest.approx(first.accuracy, abs=1e-12)


def test_gold_tags_are_kept_where_they_differ():
    words = tag_words(["a", "can", "leaks"], ["DT", "MD", "VBZ"], ["DT", "NN", None])
    assert words == [
        TaggedWord("a", "DT", None),
        TaggedWord("can", "MD", "NN"),
        TaggedWord("leaks", "VBZ", None),
    ]


@pytest.mark.long
def test_without_rich_and_matplotlib_the_lines_are_plain_and_it_is_said_once(
    tmp_path, monkeypatch, capsys
):
    missing = {"rich", "matplotlib"}
    for name in {*missing, *(name for name in sys.modules if name.split(".")[0] in missing)}:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.chdir(tmp_path)
    assert main([*TINY, "--algorithms", "em"]) == 0
    printed = capsys.readouterr()
    said = " ".join(printed.out.split())
    assert said.count("rich and matplotlib not found: plain lines, no picture") == 1
    assert _row(printed.out, "EM")
    assert printed.err == ""
    assert list(tmp_path.iterdir()) == []


def test_without_callbacks_it_is_said_what_is_needed(monkeypatch, capsys):
    monkeypatch.setattr(options, "CallbackSupportMixin", object)
    with pytest.raises(SystemExit, match="2"):
        main(TINY)
    assert "scikit-learn 1.9 or later is needed" in capsys.readouterr().err


@pytest.mark.process
@NO_SIGINT
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_keeps_what_is_there(tmp_path, jobs, monkeypatch, capsys):
    """Ctrl-C in a sweep of the second algorithm."""
    keys = iter([signal.SIGINT])

    def interrupted(name, text, settings, on_sweep):
        def pressed():
            on_sweep()
            for key in keys if name == "gibbs" else ():
                os.kill(os.getpid(), key)

        return run_restarts(name, text, settings, pressed)

    monkeypatch.setattr("sklearn_cvb.__main__.run_restarts", interrupted)
    monkeypatch.chdir(tmp_path)
    endless = ["--algorithms", "em,gibbs", "--sentences", "30", "--restarts", "2"]
    assert main([*endless, "--gibbs-sweeps", "100000000", "--jobs", jobs]) == 130
    printed = capsys.readouterr()
    assert printed.err == "interrupted\n"
    assert _row(printed.out, "EM")
    assert "accuracy by sweep" in printed.out
    # No line is printed twice.
    lines = printed.out.splitlines()
    assert len(set(lines)) == len(lines)
    assert Path(tmp_path / "sklearn_cvb_accuracy.png").stat().st_size > 0
