"""What knowledge brings: what the small version finds, its tables and its picture."""

import pytest
from nltk import Tree

from benchmarks.published import knowledge
from benchmarks.published.settings import Settings, run_parts
from benchmarks.published.tables import as_text


@pytest.fixture(scope="module")
def results(data_folder):
    return run_parts(knowledge.PARTS, Settings(str(data_folder), quick=True))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_knowledge_helps_where_it_should(results):
    scores = {name: [one["score"] for one in results[name]["rows"]] for name in knowledge.TITLES}
    nothing, told, listed, both, _ = scores["tags"]
    assert nothing < listed
    assert told < listed <= both + 0.01
    nothing, weights, some, _ = scores["heads"]
    assert nothing + 0.15 < weights
    assert nothing < some
    assert scores["brackets"][0] < scores["brackets"][1]
    assert all(0.5 < score <= 1 for score in scores["states"])


def test_tables_and_picture(results, tmp_path):
    text = as_text(knowledge.tables(results))
    assert "what you know,parameter" in text
    knowledge.draw(results, tmp_path)
    assert (tmp_path / "knowledge_gains.png").stat().st_size > 5000


def test_spans_of_a_tree():
    tree = Tree.fromstring("(S (NP (DT the) (NN dog)) (VP (V ran)))")
    assert knowledge.spans_of(tree) == [(0, 3), (0, 2)]
