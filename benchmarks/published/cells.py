"""The cheapest cells of each experiment's tables, found afresh: a function for each experiment.

Each is given the settings of a whole run, `change` (pytest's ``monkeypatch.setattr``), which cuts
the experiment down to these cells, and `page`, which reads a table of the page. It returns tables
by name, with as many rows and columns as it has found.
"""

import numpy as np

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import initial_posteriors
from benchmarks.published import (
    alignment,
    beal,
    beal_alice,
    beal_sequences,
    clusters,
    concentrations,
    convergence,
    coverage,
    criteria,
    digits,
    distributed,
    dmv,
    durations,
    figure5,
    independent,
    knowledge,
    latent,
    many_states,
    marginals,
    mixtures,
    morphology,
    noise,
    perplexity,
    pocket_english,
    samplers,
    series,
    states,
    streaming,
    streams,
    subjects,
    table1,
    taggers,
    unknown_words,
    vowels,
    wrong_models,
)
from benchmarks.published.tables import Table
from benchmarks.published.text import first_sentences

# The rest of a cell that says how long something took.
ANYTHING = "..."


def _some(mapping, *names):
    """These entries of a dictionary."""
    return {name: mapping[name] for name in names}


def _found(module, part, settings):
    """The tables of one part alone."""
    return module.tables({part: module.PARTS[part](settings)})


def _alignment(settings, change, page):
    change(alignment, "MODELS", _some(alignment.MODELS, "em"))
    change(alignment, "PEERS", {})
    return _found(alignment, "da", settings)


def _beal_alice(settings, change, page):
    """ML on one sentence: it tells no direction."""
    grid = beal_alice.FULL
    cell = grid.centre._replace(n=1)
    train, test = beal_alice.sentences(settings, grid.n_test)
    stop = {"max_iter": beal_alice.SWEEPS, "tol": beal_alice.TOLERANCE}
    rates = []
    for seed in range(grid.n_runs):
        models = [
            beal.maximum_likelihood(X, cell.k, beal_alice.ALPHABET, seed).set_params(**stop).fit(X)
            for X in (train[:1], beal_alice.reversed_all(train[:1]))
        ]
        rates.append(beal_alice.compared(*models, test)[beal_alice.RATE])
    header = ["n", "ML: right"]
    return {"cell_n": Table(header, [[cell.n, f"{100 * np.median(rates):.1f}"]])}


def _beal_sequences(settings, change, page):
    """Maximum likelihood alone."""
    X, size = beal_sequences.sequences(), (beal_sequences.N_STATES, beal_sequences.ALPHABET)
    stop = beal_sequences.NATS * sum(map(len, X)), beal_sequences.MOST_SWEEPS

    def only_ml(X, seed):
        return {"ML": beal.swept(beal.maximum_likelihood(X, *size, seed), X, *stop)}

    change(beal_sequences, "fit_all", only_ml)
    change(beal_sequences, "METHODS", _some(beal_sequences.METHODS, "ML"))
    starts = [beal_sequences._described(X, seed) for seed in range(100)]
    (table,) = beal_sequences.tables({"starts": starts}).values()
    return {"states": table._replace(rows=table.rows[:1])}


def _clusters(settings, change, page):
    change(clusters, "MODELS", _some(clusters.MODELS, "EM"))
    change(clusters, "CLUSTERS", {"speakers": (1,)})
    return _found(clusters, "speakers", settings)


def _concentrations(settings, change, page):
    """VB on pocket English."""
    some = _some(concentrations.rows(settings), "more sentences, VB")
    change(concentrations, "rows", lambda settings: some)
    return concentrations.tables(concentrations.run(settings))


def _convergence(settings, change, page):
    """EM on numbers."""
    cells = [convergence.fitted("numbers", 0, seed, settings) for seed in range(convergence.SEEDS)]
    (table,) = convergence.tables({"numbers": {"cells": cells}}).values()
    return {"rules": table._replace(rows=table.rows[:1])}


def _coverage(settings, change, page):
    change(coverage, "METHODS", _some(coverage.METHODS, "VB, mean field"))
    return _found(coverage, "labels_small", settings)


def _criteria(settings, change, page):
    """The worst pair of VB."""
    rows = page("choices").rows
    name = next(i for i, row in enumerate(rows) if row[0] == "VB")
    worst = next(row for row in rows[name:] if row[1] == "worst of the grid")
    values = [float(value) for value in worst[2].split(", ")]
    text = first_sentences(settings, 1000)
    parts = [text.X[:9], text.X[9:10], text.y[9:10]]
    cell = criteria.cell("vb", text, parts, values, taggers.SWEEPS, 1)
    row = ["VB", "worst of the grid", *criteria._picked(cell)]
    return {"choices": Table(["", "criterion", "alpha, beta", "accuracy, %"], [row])}


def _digits(settings, change, page):
    """What takes one sweep."""
    change(digits, "MODELS", {})
    change(digits, "READERS", _some(digits.READERS, "bayes", "bayes rule", "chain cvb place"))
    return _some(_found(digits, "dates", settings), "dates")


def _distributed(settings, change, page):
    size = distributed.FULL._replace(corpora=("wsj",), shards=(1,), rounds=(1,))
    change(distributed, "FULL", size)
    change(distributed, "CONDITIONS", _some(distributed.CONDITIONS, "defaults"))
    return _found(distributed, "shards", settings)


def _dmv(settings, change, page):
    change(dmv, "MODELS", _some(dmv.MODELS, "em"))
    change(dmv, "LEARNED", dmv.LEARNED[:1])
    return _some(_found(dmv, "english", settings), "english_directed", "english_undirected")


def _durations(settings, change, page):
    change(durations, "MODELS", _some(durations.MODELS, "EM"))
    change(durations, "LAWS", _some(durations.LAWS, "plain"))
    change(durations, "STATES", durations.STATES[:1])
    return _found(durations, "vowels", settings)


def _figure5(settings, change, page):
    """The first two of fifty sweeps of EM."""
    change(figure5, "SWEEPS", 2)
    change(figure5, "_SHOWN", (1, 2))
    return _some(_found(figure5, "em", settings), "sweeps")


def _independent(settings, change, page):
    size = independent.SIZES["10"]._replace(symbols={"independent": (4,)})
    change(independent, "SIZES", {"10": size})
    change(independent, "MODELS", _some(independent.MODELS, "em"))
    (table,) = independent.tables({"10": independent.by_symbols("10", settings)}).values()
    return {"10": table._replace(rows=table.rows[:1])}


def _knowledge(settings, change, page):
    return _found(knowledge, "states", settings)


def _latent(settings, change, page):
    """One subtype; all sweeps after the first find the same."""
    change(latent, "SIZES", {1: latent.SIZES[1]._replace(models=("em",), n_sweeps=2)})
    change(latent, "reading_seconds", lambda data: 0.0)
    return _some(_found(latent, "1", settings), "subtypes")


def _many_states(settings, change, page):
    """N-grams, and a small chain on letters; milliseconds are left out."""
    some = _some(many_states.MODELS["letters"], "trigram", "CVB, 45 states")
    change(many_states, "MODELS", {"letters": some})
    change(many_states, "_row", lambda title, cell: [title, f"{cell['perplexity']:.4g}"])
    change(many_states, "HEADER", many_states.HEADER[:2])
    return many_states.tables(
        {"letters": many_states.part("letters", many_states.MODELS, settings)}
    )


def _error_of_vb():
    """Mean error of VB on the problems of one alpha."""
    alpha = str(marginals.CONCENTRATIONS[0])
    errors = []
    for problem in marginals.quality_problems(216):
        if str(problem.alpha[0, 0]) == alpha:
            start = initial_posteriors(np.random.default_rng(0), problem, noise=0.05)
            found = marginals.fitted(problem, "VB", init=start).posteriors
            exact = brute.collapsed_posterior(problem).marginals
            errors.append(marginals.mean_distance(problem, found, exact))
    row = [alpha, len(errors), f"{np.mean(errors):.3f}"]
    return {"errors": Table(["alpha", "problems", "VB"], [row])}


def _marginals(settings, change, page):
    return _error_of_vb()


def _mixtures(settings, change, page):
    change(mixtures, "MODELS", _some(mixtures.MODELS, "EM"))
    change(mixtures, "N_STATES", mixtures.N_STATES[:1])
    return _some(_found(mixtures, "vowels", settings), "mixtures")


def _morphology(settings, change, page):
    """EM from uniform weights."""
    change(morphology, "STARTS", _some(morphology.STARTS, "uniform"))
    change(morphology, "_START_SWEEPS", _some(morphology._START_SWEEPS, "em"))
    (*_, table) = morphology.tables({"starts": morphology.starts(settings)}).values()
    return {"starts": table}


def _noise(settings, change, page):
    change(noise, "CRITERIA", {})
    change(noise, "ALGORITHMS", _some(noise.ALGORITHMS, "em"))
    change(noise, "FULL", noise.FULL._replace(corpora=("wsj",), strengths=(0.0,)))
    return {"strengths": noise._strength_table(noise.strengths(settings))}


def _perplexity(settings, change, page):
    change(perplexity, "MODELS", _some(perplexity.MODELS, "vb"))
    change(perplexity, "STATES", perplexity.STATES[:1])
    return _found(perplexity, "states", settings)


def _pocket_english(settings, change, page):
    return _found(pocket_english, "statistics", settings)


def _samplers(settings, change, page):
    """A short run by token; its seconds are left out."""
    plan = samplers.plan_of("dictionary", settings)
    text = first_sentences(settings, plan.sentences)

    def make(**changes):
        model = samplers.GibbsHMMTagger(text.dictionary)
        return model.set_params(**samplers._DICTIONARY | {"update": "token"} | changes)

    sweeps = plan.annealed[0]
    found = samplers.annealed(make, text, sweeps, plan.seeds)
    accuracy = samplers.plus_minus(found["accuracy"], 1, 100)
    row = [samplers.UPDATES["token"], f"{accuracy} in {ANYTHING}"]
    return {"annealing": Table(["sampler", f"{sweeps} sweeps"], [row])}


def _series(settings, change, page):
    change(series, "MODELS", _some(series.MODELS, "em"))
    change(series, "TITLES", _some(series.TITLES, "em"))
    change(series, "N_STATES", series.N_STATES[:2])
    found = {"alice": series.part("alice", settings)}
    return {name: series._held_out(*case) for name, case in series.cases(found).items()}


def _states(settings, change, page):
    change(states, "RUNS", states.RUNS[:1])
    return _found(states, "cycle", settings)


def _streaming(settings, change, page):
    change(streaming, "FETCHERS", _some(streaming.FETCHERS, "brown"))
    change(streaming, "TAGGERS", _some(streaming.TAGGERS, "EM"))
    change(streaming, "GRID", streaming.GRID[:1])
    return _some(_found(streaming, "grid", settings), "grid")


def _streams(settings, change, page):
    """VB on letters; its seconds are left out."""
    change(streams, "MODELS", _some(streams.MODELS, "VB"))
    change(streams, "SWEEPS", {"VB": streams.SWEEPS["VB"][:1]})
    change(streams, "_cell", lambda one: f"{streams.plus_minus(one['nats'], 3)}; {ANYTHING}")
    return _found(streams, "letters", settings)


def _subjects(settings, change, page):
    change(subjects, "MODELS", _some(subjects.MODELS, "VB"))
    change(subjects, "TRAINING", subjects.TRAINING[:1])
    return _found(subjects, "speakers", settings)


def _em(text):
    plan = taggers.Plan(taggers.SWEEPS, 10)
    return table1.accuracy(taggers.fit_restarts("em", text, plan))


def _table1(settings, change, page):
    row = ["1,000", "ours", _em(first_sentences(settings, 1000))]
    return {"accuracies": Table(["sentences", "", "EM"], [row])}


def _table2(settings, change, page):
    row = [2, "ours", _em(first_sentences(settings, 1000, 2))]
    return {"accuracies": Table(["d", "", "EM"], [row])}


def _unknown_words(settings, change, page):
    size = unknown_words.FULL._replace(corpora=("turkish",), taggers=("EM",))
    change(unknown_words, "FULL", size)
    return _found(unknown_words, "taggers", settings)


def _vowels(settings, change, page):
    change(vowels, "LEARNERS", ("EM",))
    change(vowels, "COVARIANCES", ("diag",))
    change(vowels, "STATES", (3,))
    ((cell, values),) = vowels.by_cell(vowels.run_test(settings)).items()
    row = [*cell[1:], vowels.shown(values)]
    return {"test": Table(["covariance", "states", cell[0]], [row])}


def _wrong_models(settings, change, page):
    """What joining finds; criteria need all numbers of states."""
    change(wrong_models, "NUMBERS", (2,))
    title = wrong_models.CRITERIA["joined"]
    tables = _found(wrong_models, next(iter(wrong_models.TITLES)), settings)
    header, rows, _ = tables["choices"]
    (joined,) = [[rows[0][0], *row[1:]] for row in rows if row[1] == title]
    return {"choices": Table([*header[:2], *map(str, range(1, 7)), header[-1]], [joined])}


CELLS = {
    "alignment": _alignment,
    "beal_alice": _beal_alice,
    "beal_sequences": _beal_sequences,
    "clusters": _clusters,
    "concentrations": _concentrations,
    "convergence": _convergence,
    "coverage": _coverage,
    "criteria": _criteria,
    "digits": _digits,
    "distributed": _distributed,
    "dmv": _dmv,
    "durations": _durations,
    "figure5": _figure5,
    "independent": _independent,
    "knowledge": _knowledge,
    "latent": _latent,
    "many_states": _many_states,
    "marginals": _marginals,
    "mean_field": _marginals,
    "mixtures": _mixtures,
    "morphology": _morphology,
    "noise": _noise,
    "perplexity": _perplexity,
    "pocket_english": _pocket_english,
    "samplers": _samplers,
    "series": _series,
    "states": _states,
    "streaming": _streaming,
    "streams": _streams,
    "subjects": _subjects,
    "table1": _table1,
    "table2": _table2,
    "unknown_words": _unknown_words,
    "vowels": _vowels,
    "wrong_models": _wrong_models,
}
