"""Plain words: what pages, messages and docstrings say is said in the field's words."""

import ast
import re
import tokenize
from pathlib import Path

import pytest

pytestmark = pytest.mark.pages

ROOT = Path(__file__).resolve().parents[2]
MADE = {"_build", "generated", "auto_examples", "auto_tutorials", "kernels", "tests"}

_AMOUNT = (
    r"(?:nats|bits|(?:micro|milli|nano)?seconds|ms|ns|(?:kilo)?bytes|tags|operations|perplexity|"
    r"probability|votes?|once|tokens|million|parsed|tables|dicts|\d+)"
)
_UNIT = (
    r"(?:token|step|sweep|sentence|sequence|word|symbol|row|column|fit|second|state|chain|worker|"
    r"component|value|number)"
)
_NO_VERB = r"(?! (?:may|can|has|had|have|takes?|is|by)\b)"
# What stands for something else here than in the field, or needs to be read twice.
DIALECT = {
    "told": r"\btold\b",
    "slip, for a wrong tag": r"\bslips?\b",
    "anew, for again": r"\banew\b",
    "so many, for this many": r"\bso many\b",
    "in place of, for instead of": r"\bin place of\b",
    "a token, for per token": rf"\b{_AMOUNT} an? {_UNIT}\b{_NO_VERB}",
    "worth, of draws and steps": r"\bworth \S+ draws|\bstep is worth",
    "of what is drawn": r"\bof what is drawn\b",
    "the rest is integrated out": r"\brest is integrated out\b",
    "mean log normaliser": r"\bmean log[- ]normali[sz]er\b",
}


def texts_of_pages():
    pages = [ROOT / "CONTRIBUTING.md"]
    for ending in ("rst", "csv", "md"):
        pages += sorted((ROOT / "doc").rglob(f"*.{ending}"))
    return {page: [page.read_text("utf-8")] for page in pages}


def texts_of_code(folder):
    """Strings by file: docstrings and messages; in the documentation's scripts comments, too."""
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        found[path] = [value for value in constants if isinstance(value, str)]
        if folder == "doc":
            with path.open("rb") as file:
                tokens = list(tokenize.tokenize(file.readline))
            said = [one.string[2:] for one in tokens if one.type == tokenize.COMMENT]
            found[path].append("\n".join(said))
    return found


@pytest.fixture(scope="module")
def texts():
    found = texts_of_pages()
    for folder in ("sklearn_cvb", "doc", "benchmarks"):
        found |= texts_of_code(folder)
    # A text without a blank is a name.
    return {
        path.relative_to(ROOT).as_posix(): [" ".join(text.split()) for text in said if " " in text]
        for path, said in found.items()
        if not MADE & set(path.relative_to(ROOT).parts)
    }


@pytest.mark.pages(usual=True)
@pytest.mark.parametrize("word", DIALECT)
def test_words_of_a_dialect_are_gone(texts, word):
    assert len(texts) > 500
    pattern = re.compile(rf"(.{{0,40}}(?:{DIALECT[word]}).{{0,20}})", re.I)
    found = {path: pattern.findall(text) for path, said in texts.items() for text in said}
    assert {path: some for path, some in found.items() if some} == {}


def test_the_count_sees_the_words():
    seen = "18 nats a step; once a sweep; told in place of so many, anew; worth 287 draws; a slip"
    counted = [word for word, pattern in DIALECT.items() if re.search(pattern, seen)]
    assert len(counted) == 7
    assert not re.search(DIALECT["a token, for per token"], "which tags a word may take")
