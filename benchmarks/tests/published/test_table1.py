"""Table 1: a small row has CVB ahead; starts decide between VB and EM; the table, its picture."""

from functools import cache
from statistics import fmean

import numpy as np
import pytest

from benchmarks.published import table1
from benchmarks.published.taggers import METHODS, Plan, choose, fit_restarts, tagger_of
from benchmarks.published.text import Shared, first_sentences, random_sentences, whole
from sklearn_cvb import tag_dictionary_from


@pytest.fixture(scope="module")
def row(quick):
    return table1.PARTS["5000"](quick)


@pytest.fixture(scope="module")
def parts(quick):
    """Further rows, each run once."""
    return cache(lambda name: table1.PARTS[name](quick))


def _means(found):
    return {name: 100 * fmean(fits["accuracies"]) for name, fits in found["methods"].items()}


def test_cvb_is_ahead_of_vb_and_em(row):
    means = _means(row)
    assert min(means["cvb-token"], means["cvb-sequence"]) > max(means["vb"], means["em"])
    assert means["cvb-sequence"] > 92
    assert 85 < means["em"] < 92
    assert means["gibbs"] > means["em"]


def test_random_choice_is_the_mean_share_of_one_tag(row, quick):
    text = first_sentences(quick, 1000)
    shares = [1 / len(text.dictionary[word]) for sentence in text.X for word in sentence]
    assert row["text"]["random_choice"] == pytest.approx(fmean(shares))
    assert row["text"]["n_sentences"] == 1000
    assert 0.70 < fmean(shares) < 0.73


def test_concentrations_are_of_the_grid_and_em_has_none(quick):
    chosen = table1.choice(quick)["methods"]
    assert chosen["em"] == {}
    for name in METHODS.keys() - {"em"}:
        assert chosen[name]["alpha"] in table1.QUICK_SEARCH.alphas
        assert chosen[name]["beta"] in table1.QUICK_SEARCH.betas
        assert 0.5 < chosen[name]["held_out"] < 1


def test_restarts_do_not_depend_on_threads(quick):
    text = first_sentences(quick, 60)
    one, two = (fit_restarts("cvb-token", text, Plan(3, 3), n) for n in (1, 2))
    assert one["accuracies"] == two["accuracies"]
    assert len(set(one["accuracies"])) > 1
    second = fit_restarts("cvb-token", text, Plan(3, 1), first_seed=1)
    assert second["accuracies"] == one["accuracies"][1:2]


def test_draws_are_different_sentences_under_one_dictionary(quick):
    one, two = (random_sentences(quick, 50, seed) for seed in (0, 1))
    assert len(one.X) == 50
    assert one.X != two.X
    assert one.dictionary is not None
    assert one.dictionary.keys() == two.dictionary.keys()
    assert isinstance(one.dictionary, Shared)


def test_entries_of_other_words_make_no_difference_to_draws(quick):
    whole_entries, own = random_sentences(quick, 60, 0), table1.drawn_sentences(quick, 60, 0)
    assert own.X == whole_entries.X
    assert len(own.dictionary) < len(whole_entries.dictionary) / 10
    one, other = (
        tagger_of("em", text, 5, init="unambiguous").fit(text.X) for text in (whole_entries, own)
    )
    assert sorted(one.classes_) == sorted(other.classes_)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-12)


def test_words_that_the_sentences_lack_need_no_entries(quick):
    text = first_sentences(quick, 60)
    bunch = whole("wsj", quick.data_home)
    full = tag_dictionary_from(bunch.data, bunch.target, count_in=text.X, weights=False)
    assert len(full) > 10 * len(text.dictionary)
    for name in METHODS:
        fits = [
            tagger_of(name, given, 5, random_state=0).fit(given.X)
            for given in (text, text._replace(dictionary=full))
        ]
        assert fits[0].classes_.tolist() == fits[1].classes_.tolist()
        assert fits[0].objective_ == fits[1].objective_
        assert all(map(np.array_equal, *(fit.labels_ for fit in fits)))


def test_table_shows_both_and_picture_is_drawn(row, tmp_path):
    results = {"1000": row | {"seconds": 60.0}}
    table = table1.tables(results)["accuracies"]
    ours, theirs = table.rows
    assert ours[:3] == ["1,000", "ours", "71.4"]
    assert "84.2 (0.2)" in theirs
    assert {method.title for method in METHODS.values()} <= set(table.header)
    table1.draw(results, tmp_path)
    assert (tmp_path / "table1_accuracy.png").stat().st_size > 5000


def test_starts_decide_whether_vb_is_ahead_of_em(parts):
    found = parts("starts")["found"]
    margin = {
        (cells, pair["beta"]): fmean(pair["vb"]) - fmean(pair["em"])
        for cells, pairs in found.items()
        for pair in pairs
    }
    assert margin["first token", 0.03] > 0.02
    assert -0.02 < margin["first parameter", 0.03] < 0.02
    assert all(margin[f"{sample} word", 0.03] < -0.03 for sample in ("first", "drawn", "few"))
    assert margin["first parameter", 0.003] < margin["first parameter", 0.03] - 0.01
    assert margin["few token", 0.03] < 0
    for pair in (pair for pairs in found.values() for pair in pairs):
        assert fmean(pair["cvb-sequence"]) > fmean(pair["vb"])


def test_tables_of_starts_name_each_once(parts):
    tables = table1.tables({"starts": parts("starts")})
    whole = tables["starts_drawn"]
    assert [row[0] for row in whole.rows] == ["token", "", "parameter", "", "word", ""]
    assert [row[1] for row in whole.rows] == 3 * ["1, 0.03", "1, 0.003"]
    assert [bool(row[2]) for row in whole.rows] == 3 * [True, False]
    short = tables["starts"]
    assert short.header[-3:] == ["VB minus EM", "1,000 drawn", "250 drawn"]
    assert [row[-2] for row in short.rows] == [row[-1].split()[0] for row in whole.rows]


def test_parts_of_single_methods_are_columns_between_the_others(row, parts):
    single = {name: parts(name) for name in ("em-viterbi", "second-order")}
    columns = table1.tables({"1000": row | {"seconds": 1.0}} | single)
    for name in ("accuracies", "times"):
        order = [title for title in columns[name].header if title in table1.COLUMNS.values()]
        assert order == list(table1.COLUMNS.values())
    table = columns["accuracies"]
    ours = dict(zip(table.header, table.rows[0], strict=True))
    for name, part in single.items():
        fits = part["rows"]["1000"]
        assert ours[table1.COLUMNS[name]] == table1.accuracy(fits)
        assert len(fits["accuracies"]) == 3
    without = table1.tables({"1000": row | {"seconds": 1.0}})["accuracies"]
    assert without.rows[0][without.header.index("CVB token, order 2")] == ""


def test_hard_em_is_below_em_from_the_same_starts(parts, quick):
    hard = parts("em-viterbi")["rows"]["1000"]["accuracies"]
    soft = fit_restarts("em", first_sentences(quick, 200), Plan(20, 3))["accuracies"]
    assert max(hard) < min(soft)


@pytest.mark.parametrize(("part", "least"), [("draws", 0.8), ("brown", 0.4)])
def test_further_rows_have_all_methods_with_cvb_ahead_of_vb(parts, part, least):
    found = parts(part)
    assert list(found["methods"]) == list(METHODS)
    assert all(
        least < value < 1 for fits in found["methods"].values() for value in fits["accuracies"]
    )
    means = _means(found)
    assert min(means["cvb-token"], means["cvb-sequence"]) > means["vb"]


def test_weights_in_the_dictionary_lift_every_method_on_brown(parts):
    plain, weighted = (_means(parts(part)) for part in ("brown", "brown weights"))
    assert all(weighted[name] > plain[name] + 10 for name in METHODS)
    assert min(weighted["cvb-token"], weighted["cvb-sequence"]) > 90


def test_choice_by_size(quick):
    found = table1.PARTS["choice by size"](quick)
    assert list(found["sizes"]) == ["150", "300"]
    text = first_sentences(quick, 300)
    for name, fits in found["sizes"]["300"].items():
        chosen = choose(name, text, table1.QUICK_SEARCH)
        assert (fits["alpha"], fits["beta"]) == (chosen["alpha"], chosen["beta"])
        again = fit_restarts(name, text, Plan(20, 2), alpha=fits["alpha"], beta=fits["beta"])
        assert fits["accuracies"] == again["accuracies"]
    last = table1.tables({"choice by size": found})["choice_by_size"].rows[-1]
    assert last[0] == "300"
    assert last[1].startswith("1, ")
