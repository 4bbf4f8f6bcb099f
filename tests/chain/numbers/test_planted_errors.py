"""Errors that are planted in CVB and in the chain are seen by comparisons with re-statements."""

import numpy as np
import pytest
from chain.numbers.test_sweeps import CVBHMM, cvb_deviation, problem

from sklearn_cvb.chain.numbers import e_step as expectation
from sklearn_cvb.chain.numbers import leave_out as collapsed
from sklearn_cvb.chain.numbers import model as chain
from sklearn_cvb.emissions import gaussian_columns

PLANTED = {}


def planted(function):
    """A change that is wrong: takes monkeypatch."""
    PLANTED[function.__name__] = function
    return function


def changed(monkeypatch, owner, name, change):
    """Replace a function by `change` of it."""
    before = getattr(owner, name)
    monkeypatch.setattr(owner, name, change(before))


@planted
def own_counts_stay_in_the_chain(monkeypatch):
    def change(before):
        def without(counts, own, *others):
            nothing = own._replace(start=0 * own.start, transition=0 * own.transition)
            return before(counts, nothing, *others)

        return without

    changed(monkeypatch, collapsed, "leave_one_out_chain", change)


@planted
def own_statistics_stay(monkeypatch):
    def change(before):
        def without(group, shares, counts, prior, problem):
            units = slice(*group[2:])
            more = counts._replace(emission=counts.emission + shares.statistics[units].sum(axis=0))
            return before(group, shares, more, prior, problem)

        return without

    changed(monkeypatch, collapsed, "_leave_out_group", change)


@planted
def all_groups_at_once(monkeypatch):
    def change(before):
        def layout(problem, *given):
            found = before(problem, *given)
            last = problem.corpus.n_sequences
            return found._replace(groups=[(0, last, 0, len(found.units) - 1)])

        return layout

    changed(monkeypatch, collapsed, "unit_layout", change)


@planted
def ends_belong_to_the_first_unit(monkeypatch):
    def change(before):
        def counts_by_unit(found, starts, units, has_end):
            counts = before(found, starts, units, has_end)
            n = found.posterior.shape[1]
            counts.transition[:, :n, n] = np.roll(counts.transition[:, :n, n], 1, axis=0)
            return counts

        return counts_by_unit

    changed(monkeypatch, collapsed, "counts_by_unit", change)


@planted
def steps_into_a_unit_belong_to_the_one_before(monkeypatch):
    def change(before):
        def infer(chain, logs, starts, stretches):
            moved = chain._replace(transition=np.roll(chain.transition, -1, axis=0))
            return before(moved, logs, starts, stretches)

        return infer

    changed(monkeypatch, collapsed, "infer", change)


@planted
def ends_have_no_weight(monkeypatch):
    changed(monkeypatch, expectation, "_add_ends", lambda before: lambda *arguments: None)


@planted
def statistics_are_those_of_the_sweep_before(monkeypatch):
    def change(before):
        def sweep(shares, counts, prior, problem):
            statistics = counts.emission.copy()

            def without(group, shares, counts, prior, problem):
                counts = counts._replace(emission=statistics)
                return sound(group, shares, counts, prior, problem)

            monkeypatch.setattr(collapsed, "_leave_out_group", without)
            return before(shares, counts, prior, problem)

        return sweep

    sound = collapsed._leave_out_group
    changed(monkeypatch, chain, "sweep", change)


@planted
def a_group_forgets_what_it_was(monkeypatch):
    def change(before):
        def without(*arguments):
            found = before(*arguments)
            nothing = 0 * found.unit_counts.transition
            return found._replace(unit_counts=found.unit_counts._replace(transition=nothing))

        return without

    changed(monkeypatch, collapsed, "_leave_out_group", change)


@planted
def scores_of_other_units(monkeypatch):
    def change(before):
        def fill(self, observations, units, out):
            n = len(self.constants)
            shifted = type(self)(
                *(np.roll(table, 1, axis=0) if np.ndim(table) else table for table in self)
            )
            return before(shifted if n > 1 else self, observations, units, out)

        return fill

    changed(monkeypatch, gaussian_columns.ColumnStudentScores, "fill", change)


def deviation():
    model, series, _ = problem(CVBHMM, "diag", "full", True, "values", "few", alpha=0.4)
    return cvb_deviation(model, series, block_length=2)


def test_nothing_planted_is_nothing_seen():
    assert deviation() < 1e-8


@pytest.mark.parametrize("error", PLANTED.values(), ids=PLANTED)
def test_planted_errors_are_seen(error, monkeypatch):
    error(monkeypatch)
    assert deviation() > 1e-4
