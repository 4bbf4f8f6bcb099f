"""One long sequence in steps (`partial_fit`) beside sweeps over all of it (`fit`).

Foti, Xu, Laird and Fox (2014) learn long chains by stochastic variational Bayes; its collapsed
counterpart (compare Wang and Blunsom 2015, arXiv:1512.01665) was learned from other data.
"""

from functools import partial
from itertools import chain
from time import perf_counter
from typing import NamedTuple

import numpy as np

from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.text import whole
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, HMMParameters, StepSizes, Symbols
from sklearn_cvb.datasets import fetch_alice, make_hmm_sequences
from sklearn_cvb.kernels.jit import kept_on_disk

TITLES = {
    "letters": "letters of Alice",
    "tags": "tags of the journal",
    "words": "words of the journal",
    "synthetic": "a synthetic chain",
}
MODELS = {"CVB": CVBHMM, "VB": VBHMM}
# PassBuffers after which a stream is measured, in pieces of a quarter.
PASSES = (0.25, 0.5, 1.0, 2.0)
_PIECES = 4
SWEEPS = {"CVB": (2, 10, 50), "VB": (10, 50)}
_N_STATES, _N_STARTS = 20, 3
_MOST_WORDS = 100_000
# How many sequences a call gets, and how long they are; None for pieces of one long sequence.
CALLS = {
    "one sequence, 1,000 steps": (None, 1_000),
    "one sequence, 10,000 steps": (None, 10_000),
    "100 sentences of 25": (100, 25),
    "400 sentences of 25": (400, 25),
}
_FIRST = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM}


class Chain(NamedTuple):
    """What is learned from, and the last tenth, to be foreseen."""

    training: list
    test: list
    vocabulary: list


class Truth(NamedTuple):
    """Transitions and emissions of a synthetic chain, summed along rows."""

    steps: np.ndarray
    symbols: np.ndarray


def truth(rng, n_states=10, n_symbols=50):
    """States stay half of the time, and have a few symbols each."""
    steps = (rng.dirichlet(np.full(n_states, 0.3), n_states) + np.eye(n_states)) / 2
    symbols = rng.dirichlet(np.full(n_symbols, 0.1), n_states)
    return Truth(steps.cumsum(axis=1), symbols.cumsum(axis=1))


@kept_on_disk()
def walked(steps, symbols, draws, more):
    """Symbols of a chain of this many draws."""
    state, found = 0, np.empty(draws.size, np.int32)
    for t in range(draws.size):
        state = min(np.searchsorted(steps[state], draws[t]), steps.shape[1] - 1)
        found[t] = min(np.searchsorted(symbols[state], more[t]), symbols.shape[1] - 1)
    return found


def drawn(model, rng, n):
    """A synthetic chain of n symbols."""
    return walked(*model, rng.random(n), rng.random(n))


def symbols_of(name, settings):
    """All symbols of a chain, in order."""
    if name == "synthetic":
        rng = np.random.default_rng(0)
        return drawn(truth(rng), rng, 20_000 if settings.quick else 1_100_000).tolist()
    if name == "letters":
        found = list(chain.from_iterable(fetch_alice(data_home=settings.data_home).data))
    else:
        corpus = whole("wsj", settings.data_home)
        found = list(chain.from_iterable(corpus.target if name == "tags" else corpus.data))
    if name == "words":
        found = [word.lower() for word in found[:_MOST_WORDS]]
    return found[:4_000] if settings.quick else found


def chain_of(name, settings):
    """Nine tenths to learn from."""
    symbols = symbols_of(name, settings)
    n = len(symbols) * 9 // 10
    return Chain(symbols[:n], symbols[n:], sorted(set(symbols)))


def model_of(algorithm, data, seed, **settings):
    """An unfitted model."""
    known = Symbols(vocabulary=data.vocabulary, handle_unknown="error")
    n_states = 10 if len(data.vocabulary) == 50 else _N_STATES
    return MODELS[algorithm](n_states, emission=known, random_state=seed, **settings)


def streamed(algorithm, data, seed):
    """Held-out nats per step and seconds by passes, and of a batch sweep of CVB after the first."""
    pieces = np.array_split(np.arange(len(data.training)), _PIECES)
    pieces = [[data.training[piece[0] : piece[-1] + 1]] for piece in pieces]
    model = model_of(algorithm, data, seed, step_sizes=StepSizes(total_samples=_PIECES))
    seconds, found = 0.0, {}
    for number in range(1, int(max(PASSES) * _PIECES) + 1):
        begun = perf_counter()
        model.partial_fit(pieces[(number - 1) % _PIECES])
        seconds += perf_counter() - begun
        if number / _PIECES in PASSES:
            found[f"{number / _PIECES:g}"] = float(model.score([data.test])), seconds
        if number == _PIECES:
            begun = perf_counter()
            after = model_of(algorithm, data, seed, init=model, max_iter=1, tol=0)
            after.fit([data.training])
            both = seconds + perf_counter() - begun
            found["1 + a sweep"] = float(after.score([data.test])), both
    return found


def swept(algorithm, data, seed):
    """The same by sweeps of `fit`."""
    found = {}
    for n_sweeps in SWEEPS[algorithm]:
        begun = perf_counter()
        model = model_of(algorithm, data, seed, max_iter=n_sweeps, tol=0).fit([data.training])
        found[str(n_sweeps)] = float(model.score([data.test])), perf_counter() - begun
    return found


def compared(name, settings):
    """Both algorithms in steps and in sweeps, by start."""
    data = chain_of(name, settings)
    warm = Chain(data.training[:500], data.test[:50], data.vocabulary)
    found = {}
    for algorithm in MODELS:
        for way, measured in (("steps", streamed), ("sweeps", swept)):
            measured(algorithm, warm, 0)
            starts = 1 if settings.quick else _N_STARTS
            runs = [measured(algorithm, data, seed) for seed in range(starts)]
            found[f"{algorithm}, {way}"] = {
                key: {"nats": [run[key][0] for run in runs], "seconds": runs[0][key][1]}
                for key in runs[0]
            }
    return {"found": found, "n_tokens": len(data.training), "n_symbols": len(data.vocabulary)}


def small_chain(n_steps, length, seed):
    """Sequences of 3 to 6 states and 10 to 30 symbols, a sixth to be foreseen, and the truth."""
    rng = np.random.default_rng(seed)
    n_states, n_symbols = int(rng.integers(3, 7)), int(rng.integers(10, 31))
    n_all = n_steps + n_steps // 5
    X, _, start, moves, shown = make_hmm_sequences(
        n_all // length if length else 1,
        length=length or n_all,
        n_components=n_states,
        n_symbols=n_symbols,
        random_state=seed,
        return_parameters=True,
    )
    if length:
        training, test = X[: n_steps // length], X[n_steps // length :]
    else:
        training, test = [X[0][:n_steps]], [X[0][n_steps:]]
    true = EMHMM(
        n_states,
        emission=Symbols(vocabulary=list(range(n_symbols)), handle_unknown="error"),
        init=HMMParameters(startprob=start, transmat=moves, emissionprob=shown),
        fixed=dict.fromkeys(("start", "transitions", "emissions"), True),
        max_iter=1,
        tol=0,
    )
    return training, test, true.fit(training)


def batches_of(training, n_sequences, length):
    """What each call gets."""
    if n_sequences is None:
        (whole_one,) = training
        return [[whole_one[i : i + length]] for i in range(0, len(whole_one), length)]
    return [training[i : i + n_sequences] for i in range(0, len(training), n_sequences)]


def first_calls(settings):
    """By how much perplexity is above that of the truth after one pass, for every chain."""
    n_steps, n_chains = (20_000, 2) if settings.quick else (100_000, 5)
    found = {calls: {name: [] for name in _FIRST} for calls in CALLS}
    for calls, (n_sequences, length) in CALLS.items():
        for seed in range(n_chains):
            training, test, true = small_chain(n_steps, n_sequences and length, seed)
            batches = batches_of(training, n_sequences, length)
            for name, model in _FIRST.items():
                stream = model(true.n_components, random_state=seed)
                for batch in batches:
                    stream.partial_fit(batch)
                excess = stream.perplexity(test) / true.perplexity(test) - 1
                found[calls][name].append(float(excess))
    return {"n_steps": n_steps, "found": found}


def one_pass(settings):
    """A synthetic chain that is never in memory as a whole, gone through once."""
    n_calls, size = (3, 10_000) if settings.quick else (100, 1_000_000)
    rng = np.random.default_rng(0)
    model = truth(rng)
    test, seconds, found = drawn(model, rng, 100_000), 0.0, []
    stream = CVBHMM(10, random_state=0)
    for number in range(1, n_calls + 1):
        batch = drawn(model, rng, size)
        begun = perf_counter()
        stream.partial_fit([batch])
        seconds += perf_counter() - begun
        if number in (1, n_calls // 10, n_calls):
            found.append([number * size, seconds, float(stream.score([test]))])
    return {"found": found}


PARTS = {name: partial(compared, name) for name in TITLES} | {
    "first": first_calls,
    "long": one_pass,
}


def tables(results):
    """Held-out log probability per step, and seconds."""
    found, names = {}, [name for name in TITLES if name in results]
    if names:
        rows = [
            [way, key, *(_cell(results[name]["found"][way][key]) for name in names)]
            for way, values in results[names[0]]["found"].items()
            for key in values
        ]
        sizes = [
            f"{TITLES[name]}, {results[name]['n_tokens']:,} steps, "
            f"{results[name]['n_symbols']:,} symbols"
            for name in names
        ]
        title = "Held-out nats per step (standard deviation of three starts); seconds"
        found["chains"] = Table(["", "passes or sweeps", *sizes], rows, title)
    if "first" in results:
        rows = [
            [calls, *(_range(values) for values in by_model.values())]
            for calls, by_model in results["first"]["found"].items()
        ]
        title = "Perplexity above that of the true model after one pass over "
        title += f"{results['first']['n_steps']:,} symbols, %: lowest to highest of the chains"
        found["first"] = Table(["a call gets", *_FIRST], rows, title)
    if "long" in results:
        rows = [[f"{n:,}", f"{s:.0f}", f"{nats:.3f}"] for n, s, nats in results["long"]["found"]]
        title = "One pass of CVB over a synthetic chain, a million symbols a call"
        found["long"] = Table(["symbols", "seconds", "held-out nats per step"], rows, title)
    return found


def _cell(one):
    return f"{plus_minus(one['nats'], 3)}; {one['seconds']:.2f}"


def _range(shares):
    return f"{100 * min(shares):.1f} to {100 * max(shares):.1f}"


def draw(results, folder):
    """No pictures."""
