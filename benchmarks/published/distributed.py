"""Corpora in shards: what CVB loses by them, what two workers gain, and what large corpora take.

Shards are simulated one after the other in one process, which changes nothing of the numbers: a
round asks all of them from the same counts. Two workers are real processes.
"""

import math
import pickle
import time
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.text import first_sentences
from sklearn_cvb import CVBHMM, VBHMM, CVBHMMTagger, Symbols
from sklearn_cvb.chain.symbols.leave_out import all_entries
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.scale.parts import LocalShards, PartResult, add_results
from sklearn_cvb.scale.symbols.vocabulary_pass import (
    lay_out,
    problem_of_part,
    read_local_parts,
    read_part,
    word_counts_of,
)

TITLES = {"wsj": "Wall Street Journal", "brown": "Brown"}
# The settings of a tagger, and seeds: defaults start where all starts are the same.
CONDITIONS = {
    "defaults": ({}, (0,)),
    "random start": ({"tag_dictionary__denoise": "none", "init": "token"}, None),
}


class Size(NamedTuple):
    """How much is run."""

    corpora: tuple
    n_sentences: int | None
    shards: tuple
    rounds: tuple
    seeds: dict
    repeats: int
    n_rounds: int


FULL = Size(
    ("wsj", "brown"),
    None,
    (1, 2, 4, 8, 16),
    (1, 2, 5, 10, 20, 40, 80),
    {"wsj": (0, 1, 2), "brown": (0,)},
    8,
    12,
)
QUICK = Size(("wsj",), 300, (1, 2, 4), (1, 3), {"wsj": (0,)}, 1, 3)


def in_parts(model: Any) -> tuple[str, Any]:
    """The module that learns a model in parts, and what it is asked for."""
    return model._parts_module, model._part_settings()


def size_of(settings):
    """What the settings ask for."""
    return QUICK if settings.quick else FULL


# Shards


def split(X, n):
    """Parts of neighbours, of about as many sequences."""
    return [(X[a:b], None) for a, b in pairwise(len(X) * i // n for i in range(n + 1))]


def shards(settings):
    """Accuracy and perplexity of CVB by the number of shards and of rounds.

    Returns ``"rows"``: for each text, condition and number of shards, accuracies on the sentences
    that are learned from, and perplexities of each tenth sentence, which is left out; by rounds,
    then by seeds.
    """
    size, rows = size_of(settings), []
    for corpus in size.corpora:
        text = first_sentences(settings, size.n_sentences, corpus=corpus)
        for condition, (changes, seeds) in CONDITIONS.items():
            for n in size.shards:
                found = [
                    _curve(text, n, size.rounds, changes | {"random_state": seed})
                    for seed in (seeds or size.seeds[corpus])
                ]
                accuracies, perplexities = np.array(found).transpose(2, 1, 0).tolist()
                row = {"corpus": corpus, "condition": condition, "shards": n}
                rows.append(row | {"accuracies": accuracies, "perplexities": perplexities})
                print(row, accuracies[-1], perplexities[-1], flush=True)
    return {"rows": rows, "rounds": list(size.rounds)}


def _curve(text, n_shards, rounds, changes):
    """Accuracy and perplexity after some numbers of rounds."""
    held_out = text.X[9::10]
    kept = [i for i in range(len(text.X)) if i % 10 != 9]
    X, gold = [text.X[i] for i in kept], [tag for i in kept for tag in text.y[i]]
    vocabulary = sorted({word for sentence in text.X for word in sentence})
    settings = {
        "tol": 0,
        "warm_start": True,
        "emission": Symbols(vocabulary=vocabulary, handle_unknown="smooth"),
    }
    model = CVBHMMTagger(text.dictionary, max_iter=rounds[0], **settings).set_params(**changes)
    curve, done, read = (
        [],
        0,
        read_local_parts(*in_parts(model), split(X, n_shards)),
    )
    for n in rounds:
        model.set_params(max_iter=n - done)
        done = n
        model._fit_reading(read, None, None)
        path = np.concatenate([_best_states(shard) for shard in read.problem.source.shards])
        accuracy = float(np.mean(model.classes_[path] == np.array(gold, object)))
        curve.append((accuracy, model.perplexity(held_out)))
    return curve


def _best_states(shard):
    """The state with the largest q(z_t) of each token of a shard, after the last sweep."""
    chain, (held,) = shard.model, shard.states.values()
    path = np.empty(len(chain.problem.corpus.tokens), np.int32)
    units = held.shares
    entries = all_entries(units.laid_out, units.posterior)
    best_states(chain.problem.lattice, entries, 0, len(path), path)
    return path


# Workers


@contextmanager
def cluster_of(n_workers):
    """A client of a cluster of processes with a thread each."""
    from distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        LocalCluster(processes=True, n_workers=n_workers, **settings) as cluster,
        Client(cluster) as client,
    ):
        yield client


def workers(settings):
    """Seconds a round on one worker and on two, and bytes that a round moves.

    Returns ``"rows"``: for each model and number of workers the smallest seconds of a round on the
    wall, processor seconds of the busiest worker and of the process that leads, tokens, and bytes
    of what is asked and of an answer.
    """
    size = size_of(settings)
    text = first_sentences(settings, size.n_sentences, corpus=size.corpora[-1])
    X = text.X * size.repeats
    rows = []
    for n_workers in (1, 2):
        with cluster_of(n_workers) as client:
            for name, model in _models(size).items():
                rows.append(_rounds(client, name, model, X) | {"workers": n_workers})
                print(rows[-1], flush=True)
    return {"rows": rows}


def _models(size):
    common = {"max_iter": size.n_rounds, "tol": 0, "random_state": 0}
    return {
        "VB, 20 states": VBHMM(20, **common),
        "CVB, 10 states": CVBHMM(10, **common),
    }


def _rounds(client, name, model, X):
    """The fastest round of a fit with two partitions."""
    from dask import delayed

    from sklearn_cvb.scale.dask.fitting import Partitions

    ask, took, worked, led, moved = Partitions._ask_once, [], [], [], [0, 0]

    def timed(self, question, total):
        begin = time.perf_counter(), time.process_time()
        answers = ask(self, question, total)
        if question[0] in ("infer", "sweep"):
            took.append(time.perf_counter() - begin[0])
            led.append(time.process_time() - begin[1])
            worked.append(max(answers[0].processor_seconds.values()))
            moved[:] = len(pickle.dumps(question)), len(pickle.dumps(answers[0].result))
        return answers

    Partitions._ask_once = timed
    try:
        model.fit([delayed(X[: len(X) // 2]), delayed(X[len(X) // 2 :])])
    finally:
        Partitions._ask_once = ask
    return {
        "model": name,
        "tokens": sum(map(len, X)),
        "round": min(took),
        "worker": min(worked),
        "leader": min(led),
        "asked": moved[0],
        "answered": moved[1],
    }


# Costs


def constants(settings):
    """What each part of a fit costs: seconds a token, a cell, a byte.

    Returns processor seconds: ``"read"`` and ``"lay_out"`` a token; ``"sweep"`` a token and round
    of CVB with a dictionary, ``"dense"`` of VB with 20 states; ``"add"`` and ``"maximise"`` a cell.
    On the wall: ``"byte"`` between processes, ``"round"`` for a round without work.
    """
    size = size_of(settings)
    text = first_sentences(settings, size.n_sentences, corpus=size.corpora[0])
    n_tokens = sum(map(len, text.X))
    found = {"tokens": n_tokens}
    lines = [" ".join(sentence) for sentence in text.X]
    seconds, part = _least(lambda: read_part([line.split() for line in lines]), 3)
    found["read"] = seconds / n_tokens
    model = CVBHMMTagger(text.dictionary, max_iter=6, tol=0, random_state=0)
    asked = model._part_settings()
    laid_out = lay_out(asked, word_counts_of(asked, part))
    found["lay_out"] = _least(lambda: problem_of_part(laid_out.part_layout, part), 3)[0] / n_tokens
    found["sweep"] = _of_a_sweep(model, text.X, "sweep") / n_tokens
    dense = VBHMM(20, max_iter=6, tol=0, random_state=0)
    found["dense"] = _of_a_sweep(dense, text.X, "infer") / n_tokens
    chain = dense._model(dense._read(text.X, None))
    counts = dense.counts_._replace(emission=dense.counts_.emission.ravel().copy())
    n_cells, prior = len(counts.emission), dense._learned.prior
    found["maximise"] = _least(lambda: chain.average(counts, prior, None), 5)[0] / n_cells
    answer = PartResult(counts, 0.0)
    found["add"] = _least(lambda: add_results(answer, answer), 5)[0] / n_cells
    found |= _over_the_wire(20_000_000 if not settings.quick else 200_000)
    return found


def _least(call, n):
    """The smallest processor seconds of some calls, and what the last one returned."""
    seconds = math.inf
    for _ in range(n):
        begin = time.process_time()
        result = call()
        seconds = min(seconds, time.process_time() - begin)
    return seconds, result


def _of_a_sweep(model, X, name):
    """The smallest processor seconds that the only shard of a fit takes for a round."""
    ask, took = LocalShards.ask, []

    def timed(self, asked, *arguments):
        begin = time.process_time()
        answer = ask(self, asked, *arguments)
        if asked == name:
            took.append(time.process_time() - begin)
        return answer

    LocalShards.ask = timed
    try:
        model._fit_reading(read_local_parts(*in_parts(model), [(X, None)]), None, None)
    finally:
        LocalShards.ask = ask
    return min(took)


def _over_the_wire(n_bytes):
    """Seconds a byte from process to process, and seconds of a round of next to no work."""
    with cluster_of(2) as client:
        addresses = sorted(client.scheduler_info()["workers"])
        seconds = []
        for _ in range(4):
            there = client.submit(
                np.random.default_rng().bytes, n_bytes, workers=addresses[:1], pure=False
            )
            client.gather(client.submit(len, there, workers=addresses[:1], pure=False))
            begin = time.perf_counter()
            client.submit(len, there, workers=addresses[1:], pure=False).result()
            seconds.append(time.perf_counter() - begin)
        tiny = _rounds(client, "", _models(QUICK)["VB, 20 states"], [["a", "b"]] * 4)
    return {"byte": min(seconds) / n_bytes, "round": tiny["round"]}


class Cost(NamedTuple):
    """Seconds of a fit of so many tokens on so many workers, in its parts."""

    encoding: float  # reading and laying out, once
    # A round: what workers compute, what goes over the wire, what the leader does alone.
    computing: float
    moving: float
    leading: float

    @property
    def round(self):
        """Seconds of a round."""
        return self.computing + self.moving + self.leading


# Bytes a second of the network that the model assumes: 10 Gbit/s, two thirds of it of use.
NETWORK = 0.8e9
# Seconds that the scheduler takes for the tasks of a shard.
TASK = 1e-3


def cost_of(found, n_tokens, n_workers, n_cells, sweep="sweep"):
    """The cost model: see the page.

    `found`: what `constants` measured.
    """
    n_bytes, levels = 8 * n_cells, math.ceil(math.log2(max(2, n_workers)))
    of_byte = max(found["byte"], 1 / NETWORK)
    return Cost(
        encoding=n_tokens / n_workers * (found["read"] + found["lay_out"]),
        computing=n_tokens / n_workers * found[sweep],
        # Counts go to all as a tree, and their sums come back as one.
        moving=2 * levels * n_bytes * of_byte + (n_bytes * of_byte) * 2,
        leading=found["round"]
        + 2 * n_workers * TASK
        + n_cells * (found["maximise"] + levels * found["add"]),
    )


PARTS = {"shards": shards, "workers": workers, "constants": constants}


# Tables


def tables(results):
    """What shards cost, what workers gain, and what large corpora take."""
    found = {}
    if "shards" in results:
        found |= _shard_tables(results["shards"])
    if "workers" in results:
        found["rounds"] = _worker_table(results["workers"]["rows"])
    if "constants" in results:
        found |= _cost_tables(results["constants"])
    return found


def _shard_tables(found):
    header = ["text, start", "shards"]
    header += [f"{n} round{'s' * (n > 1)}" for n in found["rounds"]]
    both = {}
    for name, title, scale in (
        ("accuracies", "Accuracy of the tags learned, %: mean (deviation over starts)", 100),
        ("perplexities", "Perplexity a token of the sentences left out", 1),
    ):
        rows = [
            [
                f"{TITLES[row['corpus']]}, {row['condition']}",
                row["shards"],
                *(plus_minus(values, digits=2, scale=scale) for values in row[name]),
            ]
            for row in found["rows"]
        ]
        both[name] = Table(header, rows, title)
    return both


def _worker_table(rows):
    first = {row["model"]: row for row in rows if row["workers"] == 1}
    body = []
    for row in rows:
        alone = first[row["model"]]
        busy, busy_alone = (one["worker"] + one["leader"] for one in (row, alone))
        body.append(
            [
                row["model"],
                row["workers"],
                f"{row['tokens'] / 1e6:.1f}",
                f"{row['round']:.2f}",
                f"{alone['round'] / row['round']:.2f}",
                f"{row['worker']:.3f}",
                f"{row['leader']:.3f}",
                f"{busy_alone / busy:.2f}",
                f"{row['tokens'] / busy / 1e6:.1f}",
                f"{row['asked'] / 1e6:.2f}",
                f"{row['answered'] / 1e6:.2f}",
            ]
        )
    header = ["model", "workers", "M tokens", "wall, s", "gain", "busiest worker, s"]
    header += ["leader, s", "gain", "M tokens/s", "asked, MB", "answered, MB"]
    return Table(header, body, "A round: on the wall, then in processor seconds")


_UNITS = {
    "read": ("reading and encoding text, a token", 1e9, "ns"),
    "lay_out": ("laying out a shard, a token", 1e9, "ns"),
    "sweep": ("CVB with a dictionary, a token and round", 1e9, "ns"),
    "dense": ("VB with 20 states, a token and round", 1e9, "ns"),
    "maximise": ("new weights, a cell and round", 1e9, "ns"),
    "add": ("adding counts, a cell and addition", 1e9, "ns"),
    "byte": ("from process to process here, a byte", 1e9, "ns"),
    "round": ("a round without work", 1e3, "ms"),
}


def _cost_tables(found):
    measured = [
        [text, f"{found[name] * scale:.2f} {unit}"] for name, (text, scale, unit) in _UNITS.items()
    ]
    rows = []
    for label, sweep, n_cells in (
        ("CVB, dictionary of 1 M words", "sweep", 2_000_000),
        ("VB, 20 states, 1 M words", "dense", 20_000_000),
    ):
        for n_tokens in (10**9, 10**11):
            for n_workers in (16, 256):
                cost = cost_of(found, n_tokens, n_workers, n_cells, sweep)
                rows.append(
                    [
                        label,
                        f"10^{round(math.log10(n_tokens))}",
                        n_workers,
                        f"{cost.encoding:.0f}",
                        f"{cost.computing:.1f}",
                        f"{cost.moving:.1f}",
                        f"{cost.leading:.1f}",
                        f"{(cost.encoding + 20 * cost.round) / 60:.1f}",
                        f"{100 * cost.computing / cost.round:.0f}",
                    ]
                )
    header = ["model", "tokens", "workers", "encoding, s", "computing, s a round", "moving, s"]
    header += ["leading, s", "20 rounds in all, min", "of a round spent computing, %"]
    return {
        "constants": Table(["what", "measured"], measured, "Constants"),
        "large_corpora": Table(header, rows, "What large corpora take, by the model"),
    }


def draw(results, folder):
    """Accuracy by rounds, a line for each number of shards."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if "shards" not in results:
        return
    found = results["shards"]
    panels = list(dict.fromkeys((row["corpus"], row["condition"]) for row in found["rows"]))
    figure, axes = plt.subplots(
        1, len(panels), figsize=(3.2 * len(panels), 2.8), squeeze=False, layout="constrained"
    )
    for axis, (corpus, condition) in zip(axes[0], panels, strict=True):
        for row in found["rows"]:
            if (row["corpus"], row["condition"]) == (corpus, condition):
                means = [100 * np.mean(values) for values in row["accuracies"]]
                axis.plot(found["rounds"], means, marker=".", label=f"{row['shards']}")
        axis.set_title(f"{TITLES[corpus]}, {condition}", fontsize=9)
        axis.set_xlabel("rounds")
    axes[0, 0].set_ylabel("% of tokens right")
    axes[0, 0].legend(title="shards", fontsize=7)
    figure.savefig(folder / "distributed_shards.png", dpi=120)
    plt.close(figure)
