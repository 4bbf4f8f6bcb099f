"""What knowledge brings: what the small version finds, its tables and its picture."""

import numpy as np
import pytest
from nltk import Tree

from benchmarks.published import hand_labels, knowledge
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


def test_labels_help_beside_a_dictionary(results):
    found = results["labels"]["found"]["outside"]

    def right(way):
        return np.mean([np.mean(each) for each in found[way].values()])

    assert right("labels alone") < right("dictionary") < right("dictionary, labels")
    assert right("dictionary") < right("dictionary with counts")
    assert right("EM: dictionary") < right("EM: dictionary, labels")


def test_sentences_of_a_draw_are_apart(quick):
    draw = hand_labels.draw_of("turkish", "outside", 0, hand_labels.QUICK, quick.data_home)
    assert (len(draw.X), len(draw.other), len(draw.labelled)) == (105, 70, 20)
    assert [i for i, tags in enumerate(draw.y) if tags] == sorted(draw.labelled)
    # A dictionary of other text lacks words; each of the others has its tags, some a wrong one.
    words = {word for row in draw.X for word in row}
    assert 0.1 < np.mean([word not in draw.weights for word in words]) < 0.6


def test_tables_and_picture(results, tmp_path):
    tables = knowledge.tables(results)
    assert len(tables["labels"].rows) == 13
    text = as_text(tables)
    assert "what you know,parameter" in text
    knowledge.draw(results, tmp_path)
    assert (tmp_path / "knowledge_gains.png").stat().st_size > 5000


def test_spans_of_a_tree():
    tree = Tree.fromstring("(S (NP (DT the) (NN dog)) (VP (V ran)))")
    assert knowledge.spans_of(tree) == [(0, 3), (0, 2)]
