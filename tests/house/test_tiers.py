"""Which tests a run without arguments leaves out, and that none is lost."""

import pytest
from tiers import longest_files_first, split


class Item:
    def __init__(self, nodeid, *marks):
        self.nodeid, self._marks = nodeid, [mark.mark for mark in marks]
        self.path = nodeid.partition("::")[0]

    def iter_markers(self):
        return iter(self._marks)


def test_what_is_not_marked_runs_and_one_of_each_kind_that_is():
    long, stands_in = pytest.mark.long, pytest.mark.long(usual=True)
    items = [
        Item("plain"),
        Item("shy[a]", long),
        Item("kind[a]", stands_in),
        Item("kind[b]", stands_in),
        Item("of a marked file[a]", pytest.mark.process(usual=True), pytest.mark.process),
        Item("of a marked file[b]", pytest.mark.process(usual=True), pytest.mark.process),
        Item("skipped", pytest.mark.skip),
    ]
    usual, rest = split(items)
    assert [item.nodeid for item in usual] == ["plain", "kind[a]", "of a marked file[a]", "skipped"]
    assert [item.nodeid for item in rest] == ["shy[a]", "kind[b]", "of a marked file[b]"]


def test_of_many_items_as_many_run_as_the_marker_says_with_all_values_of_parameters():
    many = pytest.mark.many(usual=3)
    items = [Item(f"kind[{i}-{j}]", many) for i in range(3) for j in range(3)]
    few = [Item(f"few[{i}]", many) for i in range(2)]
    usual, rest = split(items + few)
    assert len(usual) + len(rest) == len(items + few)
    assert usual[0] == items[0]
    assert usual[3:] == few
    names = [item.nodeid for item in usual[:3]]
    assert {name[5] for name in names} == {name[7] for name in names} == set("012")


def test_files_that_take_longest_come_first_and_their_tests_in_order():
    few = [Item("few::a"), Item("few::b")]
    more = [Item("more::b"), Item("more::a"), Item("more::c")]
    marked = [Item("marked", pytest.mark.process)]
    assert longest_files_first(few + more + marked) == marked + more + few


def test_what_is_compiled_later_waits_whatever_its_marker_says():
    many = pytest.mark.many(usual=2)
    names = ("EMPCFG-stepwise tables", "EMPCFG-stepwise", "EMPCFG-tables")
    usual, rest = split([Item(f"kind[{name}]", many) for name in names])
    assert [item.nodeid for item in usual] == ["kind[EMPCFG-stepwise]", "kind[EMPCFG-tables]"]
    assert [item.nodeid for item in rest] == ["kind[EMPCFG-stepwise tables]"]
