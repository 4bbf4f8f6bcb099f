"""The README's claims: runs the commands that it names, and writes what they print into it.

``python -m benchmarks.readme --data-home FOLDER`` runs the main job on two texts and hmmlearn's
gallery, keeps what they print in ``benchmarks/readme.json``, writes the claims between the two
marks of ``README.md`` and all figures into ``doc/tables/taggers.csv``, which pages show, and draws
the README's picture. ``--keep-seconds`` leaves times as a quiet machine has measured them;
``--from-file`` runs nothing and writes the texts again from that file.
"""

import argparse
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import readme_picture

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
    parser.add_argument("--keep-seconds", action="store_true", help="on a machine that is busy")
    parser.add_argument("--from-file", action="store_true", help="run nothing, read readme.json")
    options = parser.parse_args(arguments)
    found = json.loads(FIGURES.read_text(encoding="utf-8"))
    if not options.from_file:
        before, found = found, measured(options.data_home)
        if options.keep_seconds:
            found = with_seconds_of(before, found)
        FIGURES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        readme_picture.draw(readme_picture.found())
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(encoding="utf-8"), found), encoding="utf-8")
    TABLE.write_text(table(found), encoding="utf-8")
    return 0


def measured(data_home=None):
    """What all commands print, in figures: by text what `figures` gives, and of hmmlearn's gallery
    by how much each script differs.
    """
    found = {name: run(command, data_home) for name, command in COMMANDS.items()}
    return found | {"hmmlearn": differences(_printed(["benchmarks.hmmlearn_gallery"]))}


def run(command, data_home=None):
    """What the main job prints, in figures."""
    home = ["--data-home", data_home] if data_home and "--corpus" in command else []
    with TemporaryDirectory() as folder:
        output = ["--output", str(Path(folder, "accuracy.png"))]
        return figures(_printed(["sklearn_cvb", *command, *home, *output]))


def _printed(module):
    """What a module prints that is run with arguments."""
    job = [sys.executable, "-m", *module]
    return subprocess.run(job, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


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


def differences(printed):
    """By script of hmmlearn's gallery what `benchmarks.hmmlearn_gallery` prints."""
    return dict(re.findall(r"^(plot_\w+): (\d\.\de[-+]\d+)$", printed, re.M))


def with_seconds_of(before, found):
    """Figures with the times of others."""
    for name in COMMANDS:
        for title, row in found[name]["rows"].items():
            row["seconds"] = before[name]["rows"][title]["seconds"]
    return found


def table(found):
    """The figures of the taggers as comma-separated text."""
    lines = [["", "journal", "seconds per fit", "pocket English", "held out: known", "unknown"]]
    for title, row in found["journal"]["rows"].items():
        pocket = found["pocket English"]["rows"][title]["accuracy"]
        cells = (row[column] for column in ("known", "unknown"))
        lines.append([title, row["accuracy"], row["seconds"], pocket, *cells])
    return "\n".join(map(",".join, lines)) + "\n"


def block(found):
    """The README's claims that are figures.

    `found`: what `measured` gives.
    """
    rows, text = found["journal"]["rows"], found["journal"]["text"]
    share = {title: row["accuracy"].split()[0] for title, row in rows.items()}
    n_sentences = re.search(r": ([\d,]+) sentences", text)[1]
    at_random = re.search(r"at random gets (\d+\.\d)% right", text)[1]
    command = " ".join(["python -m sklearn_cvb", *COMMANDS["journal"]])
    off = found["hmmlearn"]
    digits = math.floor(-math.log10(max(map(float, off.values()))))
    return (
        f"- **{share['CVB sequence']} % of the tags right, from raw text and a word list**: "
        f"{n_sentences} sentences of a newspaper in {rows['CVB sequence']['seconds']} s once "
        "compiled (mean of 5 starts; the list has the tags of each word in that newspaper). At "
        f"random {at_random} % are right, by EM {share['EM']} %, VB {share['VB']} %, "
        f"sampling {share['Gibbs']} % in {rows['Gibbs']['seconds']} s (`{command}`).\n"
        "- **Change one import from hmmlearn and get its figures** (`from sklearn_cvb.hmmlearn "
        f"import hmm`): the {len(off)} scripts of its gallery agree to {digits} digits. "
        "Beyond it: missing values, labels, forecasts, intervals.\n"
    )


def replaced(text, found):
    """A README with other figures.

    `text`: with the lines `BEGIN` and `END`. `found`: what `measured` gives.
    """
    before, rest = text.split(f"{BEGIN}\n")
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{block(found)}{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
