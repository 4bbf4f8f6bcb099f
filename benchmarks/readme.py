"""The README's figures: runs the commands that it names, and writes what they print into it.

``python -m benchmarks.readme --data-home FOLDER`` runs them, keeps what they print in
``benchmarks/readme.json`` and writes the figures between the two marks of ``README.md``, and into
``doc/tables/taggers.csv``, which pages show; ``--from-file`` writes both again from that file.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "readme.json"
TABLE = ROOT / "doc" / "tables" / "taggers.csv"
BEGIN = "<!-- Figures from here on are written by python -m benchmarks.readme -->"
END = "<!-- Figures end here -->"
COMMANDS = {
    "journal": ["--corpus", "wsj", "--sentences", "1000"],
    "pocket English": [],
}
_TITLES = ("EM", "VB", "CVB token", "CVB sequence", "Gibbs")
_COLUMNS = ("accuracy", "seconds", "known", "unknown", "perplexity")
_SPREAD = r"\d+\.\d \(\d+\.\d+\)"


def main(arguments=None):
    """Run the commands, or read what they printed, and write the README."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readme", description=__doc__)
    parser.add_argument("--data-home", help="folder of the corpora (see sklearn_cvb.datasets)")
    parser.add_argument("--from-file", action="store_true", help="run nothing, read readme.json")
    options = parser.parse_args(arguments)
    if not options.from_file:
        found = {name: run(command, options.data_home) for name, command in COMMANDS.items()}
        FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    found = json.loads(FIGURES.read_text(encoding="utf-8"))
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(encoding="utf-8"), found), encoding="utf-8")
    TABLE.write_text(table(found), encoding="utf-8")
    return 0


def run(command, data_home=None):
    """What the main job prints, in figures."""
    home = ["--data-home", data_home] if data_home and "--corpus" in command else []
    with TemporaryDirectory() as folder:
        output = ["--output", str(Path(folder, "accuracy.png"))]
        job = [sys.executable, "-m", "sklearn_cvb", *command, *home, *output]
        done = subprocess.run(job, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return figures(done.stdout)


def figures(printed):
    """The figures in what the main job prints.

    Returns ``"text"``: what is said of the text, without line breaks; ``"rows"``: by algorithm the
    texts of the table's cells by column.
    """
    rows = {}
    for line in printed.splitlines():
        title = next((title for title in _TITLES if line.startswith(f"{title} ")), None)
        cells = re.findall(rf"{_SPREAD}|\S+", line.removeprefix(title)) if title else []
        if len(cells) == len(_COLUMNS) + 1:
            del cells[2]  # the paper's accuracy
        if cells and re.fullmatch(_SPREAD, cells[0]):
            rows[title] = dict(zip(_COLUMNS, cells, strict=True))
    return {"text": " ".join(printed.partition("\nalgorithm ")[0].split()), "rows": rows}


def _cells(found):
    """The header of the table of figures, and its rows."""
    yield ["", "journal", "seconds per fit", "pocket English", "held out: known", "unknown"]
    for title, row in found["journal"]["rows"].items():
        pocket = found["pocket English"]["rows"][title]["accuracy"]
        yield [title, row["accuracy"], row["seconds"], pocket, row["known"], row["unknown"]]


def table(found):
    """The figures as comma-separated text."""
    return "\n".join(",".join(cells) for cells in _cells(found)) + "\n"


def block(found):
    """The README's text of figures.

    `found`: by command what `figures` gives.
    """
    journal, pocket = found["journal"], found["pocket English"]
    lines = [
        "Tags of 1,000 raw sentences of the Wall Street Journal "
        f"({_ambiguity(journal)}), mean and standard deviation over 5 starts, and of 1,000 "
        f"generated sentences ({_ambiguity(pocket)}), 3 starts. The last two columns: 100 "
        "sentences held out of the 1,000 from the journal, by whether the tagger knew the word.",
        "",
    ]
    header, *rows = (f"| {' | '.join(cells)} |" for cells in _cells(found))
    lines += [header.replace("|  |", "| |"), f"|{'---|' * 6}", *rows]
    return "\n".join(lines) + "\n"


def replaced(text, found):
    """A README with other figures.

    `text`: with the lines `BEGIN` and `END`. `found`: by command what `figures` gives.
    """
    before, rest = text.split(f"{BEGIN}\n")
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{block(found)}{END}{after}"


def _ambiguity(part):
    share, chance = re.search(
        r"(\d+)% of the tokens .* gets (\d+\.\d)% right", part["text"]
    ).groups()
    return f"{share} % of the tokens ambiguous; choosing at random gets {chance} %"


if __name__ == "__main__":
    sys.exit(main())
