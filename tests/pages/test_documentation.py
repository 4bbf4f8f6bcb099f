"""The documentation: what its pages name exists."""

import doctest
import re
import runpy
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.pages

FOLDER = Path(__file__).resolve().parents[2] / "doc"
csv_tables = SimpleNamespace(**runpy.run_path(str(FOLDER / "extensions" / "csv_tables.py")))
# Others are made while the site is built.
MADE = {"_build", "_templates", "generated", "auto_examples", "auto_tutorials"}
PAGES = sorted(path for path in FOLDER.rglob("*.rst") if not MADE & set(path.parts))
REFERENCE = [FOLDER / "api.rst", *sorted((FOLDER / "api").glob("*.rst"))]
MODULES = [
    name
    for page in REFERENCE
    for name in re.findall(r"^\.\. module:: (\S+)$", page.read_text("utf-8"), re.M)
]


@pytest.mark.parametrize("name", MODULES)
def test_listed_modules_say_what_is_public(name):
    module = import_module(name)
    assert set(module.__all__) <= set(dir(module))
    assert all((getattr(module, public).__doc__ or "").strip() for public in module.__all__)


def test_every_public_name_stands_in_one_table_of_the_reference():
    listed = []
    for page in REFERENCE:
        text = page.read_text("utf-8")
        module = re.search(r"^\.\. (?:current)?module:: (\S+)$", text, re.M)
        for table in re.findall(r"^\.\. autosummary::\n(?: .*\n|\n)*", text, re.M):
            for name in re.findall(r"^   (\w+)$", table, re.M):
                listed.append(f"{module[1]}.{name}")
    public = [f"{name}.{item}" for name in MODULES for item in import_module(name).__all__]
    assert len(MODULES) == 8
    assert sorted(listed) == sorted(public)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(FOLDER)))
def test_pictures_and_tables_of_a_page_are_there(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"^\s*\.\. (?:figure|image|include):: (\S+)$", text, re.M):
        assert (page.parent / name).is_file(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(FOLDER)))
def test_what_a_page_refers_to_exists(page):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r":(?:func|class|meth|mod):`~?(?:[^`<]*<)?([\w.]+)>?`", text):
        parts = name.split(".")
        if parts[0] != "sklearn_cvb":
            continue
        value = import_module("sklearn_cvb")
        for i, part in enumerate(parts[1:], 2):
            if not hasattr(value, part):
                import_module(".".join(parts[:i]))
            value = getattr(value, part)


GUIDE = re.findall(r"^   (\w+)$", (FOLDER / "user_guide.rst").read_text("utf-8"), re.M)


def test_pages_of_the_guide_are_short():
    sizes = {page: len((FOLDER / f"{page}.rst").read_text("utf-8").split()) for page in GUIDE}
    assert len(sizes) > 20
    assert {page: size for page, size in sizes.items() if size > 1500} == {}
    assert sum(sizes.values()) <= 20_000


def shown_by(page):
    """The text of a page, and the tables that it takes from files."""
    text = page.read_text(encoding="utf-8")
    rows = []
    for name in re.findall(r"^ +:file: (\S+\.csv)$", text, re.M):
        rows += csv_tables.read((page.parent / name).resolve())
    for name, options in re.findall(r"^\.\. measured:: (\S+)\n((?: +:\w+: .*\n)*)", text, re.M):
        asked = dict(re.findall(r":(where|rows|columns): (.*)", options))
        rows += csv_tables.chosen(csv_tables.read(name), **asked)
    included = re.findall(r"^ *\.\. include:: (\S+)$", text, re.M)
    return "\n".join([text, *map(" ".join, rows), *(shown_by(page.parent / i) for i in included)])


def test_pages_have_at_most_1500_words_with_their_tables():
    read = [page for page in PAGES if "tables" not in page.parts]
    sizes = {str(page.relative_to(FOLDER)): len(shown_by(page).split()) for page in read}
    assert {page: size for page, size in sizes.items() if size > 1500} == {}


def prose(path):
    """A page without its code, a script's comments, or a README without what a command wrote."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return "\n".join(line[2:] for line in text.splitlines() if line.startswith("# "))
    text = re.sub(r"<!-- Figures from(?:.|\n)*?<!-- Figures end", "", text)
    text = re.sub(r"^ *>>> .*\n(?:.*\S.*\n)*", "", text, flags=re.M)
    return re.sub(r"``[^`]*``|:math:`[^`]*`|^ +:title: .*$", "", text, flags=re.M)


WRITTEN = [FOLDER.parent / "README.md", *sorted((FOLDER / "tutorials").glob("*.py"))]
WRITTEN += [page for page in PAGES if "published" not in page.parts]
# Accuracy and speed: 93.6 %, 94 % of the words, 3 points, 2.5 seconds, 3 times as fast.
FIGURE = (
    r"\d+\.\d+\s%|\d\s%\s(?:right|of\s(?:the\s|all\s)?(?:words|tokens|tags|heads|states|steps|cases))"
    r"|\d\s(?:points?\sof|(?:micro|milli)?seconds|minutes|times\sas\s(?:fast|accurate))\b"
)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(FOLDER.parent)))
def test_no_figures_are_typed_in(path):
    """``measured``, table or role, shows what a benchmark wrote, so that no page says otherwise."""
    text = path.read_text(encoding="utf-8")
    rows = re.findall(r"^(?![ >])\S.*?  +\S*\d?\.\d.*?  +\S*\d?\.\d.*$", text, re.M)
    cells = re.findall(r"^ +(?:\* )?- -?\d[\d.,]*$", text, re.M)
    tables = rows + cells if path.suffix == ".rst" else []
    assert tables + re.findall(FIGURE, prose(path)) == []


DOORS = ["which_class", "how_to/data_frames", "forecasts", "how_many_states", "uncertainty"]
DOORS += ["published/knowledge", "coming_from_hmmlearn", "coming_from_r", "how_to/coming_from_nltk"]
DOORS += ["install", "auto_tutorials/plot_6_trust_a_model", "classify-sequences"]


def test_each_question_of_newcomers_has_a_door_on_the_front_page():
    text = (FOLDER / "index.rst").read_text(encoding="utf-8")
    linked = re.findall(r":(?:doc|ref):`(?:[^`<]*<)?([\w/-]+)>?`", text)
    assert set(DOORS) <= set(linked)


def test_every_published_experiment_has_a_page():
    from benchmarks.published.catalogue import EXPERIMENTS

    pages = [FOLDER / "published" / name for name in ("index.rst", "appendix.rst")]
    listed = re.findall(r"^   (\w+)$", "\n".join(page.read_text("utf-8") for page in pages), re.M)
    # Its page is a chapter of the guide.
    assert sorted(listed) == sorted([*(EXPERIMENTS.keys() - {"marginals"}), "appendix"])


def test_files_and_commands_of_the_guide_for_contributors_exist():
    root = FOLDER.parent
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+(?:/|\.py))`", text)
    assert len(named) > 10
    for name in named:
        places = [root / name, root / "sklearn_cvb" / name]
        assert any(place.exists() for place in places), name
    for module in re.findall(r"python -m ((?:sklearn_cvb|benchmarks)[\w.]*)", text):
        assert find_spec(module) is not None, module


WITH_EXAMPLES = [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8")]


@pytest.mark.pages(usual=True)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:y is ignored")
@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(FOLDER)))
def test_examples_of_a_page_run(page):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    written = [line for line in page.read_text("utf-8").splitlines() if ">>> " in line]
    # Python 3.13 counts those that are skipped among them.
    attempted = result.attempted - getattr(result, "skipped", 0)
    assert attempted == sum("+SKIP" not in line for line in written)
    assert result.failed == 0
