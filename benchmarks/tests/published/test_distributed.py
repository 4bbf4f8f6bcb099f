"""The experiment on corpora in shards: its cost model and its tables."""

import re

import pytest

from benchmarks.published import distributed
from benchmarks.published.tables import as_text

FOUND = {
    "read": 4e-7,
    "lay_out": 1e-7,
    "sweep": 25e-9,
    "dense": 150e-9,
    "maximise": 10e-9,
    "add": 0.25e-9,
    "byte": 1e-9,
    "round": 0.02,
}


def test_the_cost_model_adds_its_parts():
    cost = distributed.cost_of(FOUND, 10**9, 16, 2_000_000)
    assert cost.encoding == pytest.approx(10**9 / 16 * 5e-7)
    assert cost.computing == pytest.approx(10**9 / 16 * 25e-9)
    # Four levels there and back and the leader's own link, at 0.8 GB a second.
    assert cost.moving == pytest.approx((2 * 4 + 2) * 16e6 / 0.8e9)
    assert cost.leading == pytest.approx(0.02 + 0.032 + 2e6 * (10e-9 + 4 * 0.25e-9))
    assert cost.round == pytest.approx(cost.computing + cost.moving + cost.leading)
    more = distributed.cost_of(FOUND, 10**9, 256, 2_000_000)
    assert more.computing == pytest.approx(cost.computing / 16)
    assert more.moving > cost.moving


def test_parts_are_neighbours_and_hold_all():
    parts = distributed.split(list(range(10)), 4)
    assert [len(X) for X, _ in parts] == [2, 3, 2, 3]
    assert [one for X, _ in parts for one in X] == list(range(10))


def test_tables_show_gains():
    rows = [
        {
            "model": "VB",
            "workers": n,
            "tokens": 10**6,
            "round": seconds,
            "worker": seconds - 0.01,
            "leader": 0.01,
            "asked": 10**6,
            "answered": 2 * 10**6,
        }
        for n, seconds in ((1, 1.0), (2, 0.5))
    ]
    text = as_text(distributed.tables({"workers": {"rows": rows}, "constants": FOUND}))
    assert len(re.findall(r",2\.00\b", text)) == 4
    assert "10^11" in text
