"""Random calls of hidden Markov models, taggers and grammars, good and bad ones."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from fuzz.draws import ALPHABETS, BAD, SEED, Draw, Maker

import sklearn_cvb
from sklearn_cvb import MiniBatches, Symbols, TagDictionary, Transitions, Windows

CHAINS = [
    f"{algorithm}HMM{ending}"
    for algorithm in ("EM", "VB", "CVB", "Gibbs")
    for ending in ("", "Tagger")
]
GRAMMARS = [f"{algorithm}PCFG" for algorithm in ("EM", "VB", "CVB", "Hastings", "Gibbs")]

_TAGS = [["X", "Y", "Z"], ["X"], [3, 1], [0.5, 1.5], ["X", 1, ("Y", 2)], [True, False]]
_TEXTS = [
    "S -> S S | 'a' | 'b'",
    "S -> A B | 'a'\nA -> 'a' | 'b' | A A\nB -> 'b' | B A",
    "S -> A | 'a' | 'd'\nA -> S | 'b' | A S | 'c'",
    "S -> 'a' 'b' | S S | 'a' | 'b'",
    "S -> S S | 'a' | '<unk>'",
    "S -> S S [0.3] | 'a' [0.6] | 'b' [0.1]",
    "S -> A S A | 'a'\nA -> 'b' | 'a' A | B\nB -> 'c' 'd' | 'c' | A",
]
_BAD_TEXTS = ["", "S", "S ->", "S -> A", "S -> S", "S -> S S", "S -> 'a' [0.5]", "S -> 'a' [2.0]"]
_BAD_ENTRIES = [[], None, float("nan"), ["X", None], [["X"]], {"X": -1}, {"X": {}}, 10**400]
# Of CVB, and of samplers; other algorithms have no such parameter.
_UPDATES = [
    ["token", "sequence", "sequence", Windows(2)],
    ["token", "sequence", "parameter"],
]


def draw(i: int) -> Draw:
    """The call with this number."""
    return _Maker(np.random.default_rng([SEED, i])).call()


class _Maker(Maker):
    """What was drawn first decides what fits it."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.name = self.one(CHAINS + GRAMMARS)
        self.is_grammar = self.name in GRAMMARS
        self.is_tagger = self.name.endswith("Tagger")
        self.is_sampler = self.name.startswith(("Gibbs", "Hastings"))
        self.alphabet = ["a", "b", "c"] if self.is_grammar else self.one(ALPHABETS)
        self.tags = self.one(_TAGS)
        self.dictionary = None
        self.n_states = int(rng.integers(1, 4))

    def call(self) -> Draw:
        """All that is drawn, in a fixed order."""
        settings = self.settings()
        sequences = self.sequences()
        X = self.junk() if self.chance(BAD) else self.formed(sequences)
        y = self.known(sequences) if self.chance(0.5) else None
        reads = [self.read() for _ in range(int(self.rng.integers(1, 5)))]
        return Draw(self.name, settings, X, y, reads)

    # Sequences

    def sequences(self, unknown: bool = False) -> list[list]:
        """Sequences over the alphabet, seldom with missing tokens."""
        alphabet = [*self.alphabet, "new", 7] if unknown else self.alphabet
        n = int(self.rng.integers(1, 6))
        lengths = self.rng.integers(1, 7, size=n)
        if self.chance(0.3):
            lengths[:] = lengths[0]
        if self.chance(0.1):
            lengths[0] = 15
        sequences = [[self.one(alphabet) for _ in range(length)] for length in lengths]
        if self.chance(0.1) and (not self.is_grammar or self.chance(BAD)):
            missing = self.one([None, float("nan"), pd.NA, Decimal("NaN")])
            for row in sequences:
                row[int(self.rng.integers(len(row)))] = missing
        return sequences

    # What is known

    def known(self, sequences: list[list]) -> Any:
        """Labels or brackets of the sequences, right ones for the most part."""
        if self.chance(3 * BAD):
            return self.junk()
        if self.chance(BAD):
            sequences = sequences[:-1]
        if self.is_grammar:
            return [self.brackets(row) for row in sequences]
        if not self.is_tagger and self.chance(0.5):
            return self.rng.integers(0, 3, size=len(sequences))
        return [None if self.chance(0.3) else self.labels(row) for row in sequences]

    def labels(self, row: list) -> list:
        """Tags of some tokens, seldom illegal."""
        return [None if self.chance(0.6) else self.tag_of(word) for word in row]

    def tag_of(self, word: Any) -> Any:
        entry = (self.dictionary or {}).get(word)
        if self.chance(BAD):
            return self.one(["W", float("nan"), ["X"], {}, 10**400])
        if isinstance(entry, list | tuple | dict) and len(entry):
            return self.one(list(entry))
        return self.one(self.tags)

    def brackets(self, row: list) -> Any:
        """Spans, a tree in brackets, or nothing."""
        if self.chance(0.5):
            return None
        if self.chance(BAD):
            return self.one([[(0, 9)], [(1, 1)], [(0.5, 1)], [("a", "b")], "(S", 3, [3], "(S x)"])
        ends = sorted(self.rng.integers(0, len(row) + 1, size=2).tolist())
        if self.chance(0.2) and all(isinstance(word, str) for word in row):
            return f"(S {' '.join(row)})"
        return [tuple(ends)] if ends[0] < ends[1] else []

    def entry(self) -> Any:
        """One entry of a dictionary."""
        if self.chance(BAD / 4):
            return self.one(_BAD_ENTRIES)
        tags = self.some(self.tags, least=1)
        kind = self.one(["list", "tuple", "set", "weights", "one"])
        if kind == "weights":
            return {tag: self.one([0.0, 1, 3.5, 1e6]) + (tag == tags[0]) for tag in tags}
        return {"list": tags, "tuple": tuple(tags), "set": set(tags), "one": tags[:1]}[kind]

    # Settings

    def settings(self) -> dict[str, Any]:
        """Settings of the estimator, seldom one that is wrong."""
        by_form = ["form"] if self.name.endswith("Tagger") else []
        given: dict[str, Any] = {
            "max_iter": int(self.rng.integers(1, 4)),
            "n_init": int(self.rng.integers(1, 3)),
            "random_state": int(self.rng.integers(100)),
            "tol": self.one([0.0, 1e-4, 10.0]),
            "handle_unknown": self.one(["error", "smooth", "rare", *by_form]),
            "warm_start": self.chance(0.3),
            "n_jobs": self.one([None, None, 1, 2]),
        }
        given |= self.grammar_settings() if self.is_grammar else self.chain_settings()
        if self.is_sampler:
            given["samples"] = self.one([None, self.samples()])
        if not self.is_grammar:
            given["emission"] = Symbols(
                given.pop("vocabulary", None), handle_unknown=given.pop("handle_unknown")
            )
        if self.chance(3 * BAD):
            given[self.one(sorted(given))] = self.junk()
        kind = getattr(sklearn_cvb, self.name)
        return {name: value for name, value in given.items() if name in kind().get_params()}

    def chain_settings(self) -> dict[str, Any]:
        """Those of a hidden Markov model or tagger."""
        given = {
            "n_components": self.n_states,
            "alpha": self.concentration(),
            "beta": self.concentration(),
            "transitions": self.transitions(),
            "update": self.one(_UPDATES[self.is_sampler]),
            "init": self.one([None, None, "token", "word", "parameter", "unambiguous"]),
        }
        if "auto" in (given["alpha"], given["beta"]) and self.chance(0.5):
            given["max_iter"] = 22
        if self.chance(0.1):
            words = self.alphabet
            given["vocabulary"] = self.one([words, set(words), [*words, 99]])
        if self.is_tagger:
            given["supervision"] = self.one(["y", "y", "none"])
            weight = self.one([0.0, 1.0, 100.0])
            if self.chance(0.7):
                words = self.some([*self.alphabet, "other"])
                self.dictionary = {word: self.entry() for word in words}
                given["tag_dictionary"] = self.dictionary
            tags = self.some(self.tags, least=1) if self.chance(0.2) else None
            if tags or self.chance(0.5):
                given["tag_dictionary"] = TagDictionary(
                    self.dictionary, weight=weight, unknown_tags=tags
                )
        return given

    def transitions(self) -> Any:
        """A word or a table, or an object that says more."""
        topology = self.topology()
        if self.chance(0.5):
            return topology
        return Transitions(
            topology,
            end_state=self.chance(0.5),
            start_alpha=self.concentration() if self.chance(0.3) else None,
            sticky=self.one([0.0, 0.0, 2.0]),
        )

    def topology(self) -> Any:
        """A name, or a table that fits for the most part."""
        if self.chance(0.8):
            return "full"
        table = self.rng.random((self.n_states, self.n_states)) < 0.7
        return self.one(["independent", "constant", "left-right", table])

    def grammar_settings(self) -> dict[str, Any]:
        """Those of a grammar."""
        given = {
            "n_components": self.n_states,
            "alpha": self.concentration(),
            "init": self.one([None, None, "parameter", "uniform"]),
            "supervision": self.one(["y", "y", "none"]),
            "update": self.one(["batch", "sequence", MiniBatches(2)]),
        }
        if self.chance(0.75):
            given["grammar"] = self.grammar()
            if self.chance(0.15):
                given["init"] = self.one(["trees", "grammar"])
            if self.chance(0.1):
                given["alpha"] = {"S": 0.5, "A": 1.0, "B": 0.1}
        else:
            given["rules"] = self.one(["full", "independent"])
            if self.chance(0.1):
                given["vocabulary"] = ["a", "b", "c", "d"]
        return given

    def grammar(self) -> Any:
        """Rules in one of the forms that they may have."""
        if self.chance(BAD):
            return self.one([self.one(_BAD_TEXTS), self.junk(), ["(S"], ["(S)"], [""]])
        text = self.one(_TEXTS) if self.chance(0.7) else self.text()
        form = self.one(["text", "text", "nltk", "Grammar", "trees"])
        if form == "trees":
            return ["(S (A a) (B b))", "(S (S a) (S (A b) (B c)))", "(S (A c))"]
        if form == "text":
            return text
        try:
            grammar = sklearn_cvb.Grammar.from_text(text)
        except ValueError:
            return text
        return grammar if form == "Grammar" else grammar.to_nltk()

    def text(self) -> str:
        """Random rules over three symbols."""
        symbols = ["S", "A", "B"][: int(self.rng.integers(1, 4))]
        items = [*symbols, "'a'", "'b'", "'c'"]

        def side() -> str:
            return " ".join(self.one(items) for _ in range(int(self.rng.integers(1, 4))))

        return "\n".join(f"{symbol} -> 'a' | {side()} | {side()} | {side()}" for symbol in symbols)

    # Reading

    def read(self) -> tuple[str, dict[str, Any]]:
        """A method and its arguments."""
        name = self.one(_READS)
        given: dict[str, Any] = {}
        if name in _OF_SEQUENCES:
            sequences = self.sequences(unknown=True)
            given["X"] = self.junk() if self.chance(BAD) else self.formed(sequences)
            if name == "score" and self.chance(0.5):
                given["y"] = self.known(sequences)
        options = _OPTIONS.get((name, self.is_grammar), _OPTIONS.get((name, None), {}))
        for option, values in options.items():
            if self.chance(0.5):
                given[option] = self.junk() if self.chance(2 * BAD) else self.one(values)
        return name, given


_OF_SEQUENCES = [
    "predict",
    "predict_proba",
    "filter_proba",
    "predict_next_proba",
    "transform",
    "score",
    "score_samples",
    "perplexity",
    "sample_paths",
    "lower_bound_samples",
    "parse",
]
_READS = [
    *_OF_SEQUENCES,
    "predict",
    "sample",
    "credible_intervals",
    "training_posteriors",
    "convergence",
    "fit",
]
_OPTIONS: dict[tuple[str, bool | None], dict[str, list]] = {
    ("predict", False): {"decoding": ["viterbi", "marginal"]},
    ("perplexity", None): {"per": ["token", "sequence"]},
    ("sample_paths", None): {"random_state": [0, 1]},
    ("parse", None): {"n_best": [1, 3]},
    ("sample", False): {"n_samples": [1, 3], "length": [1, 4], "random_state": [0]},
    ("sample", True): {"n_samples": [1, 3], "longest": [5, 100], "random_state": [0]},
    ("credible_intervals", None): {"level": [0.5, 0.95]},
}
