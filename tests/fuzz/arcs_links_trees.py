"""Random calls of dependency models, word alignments and treebank grammars, good and bad ones."""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from fuzz.draws import ALPHABETS, BAD, SEED, TEMPERATURES, Draw, Maker
from nltk import Tree

import sklearn_cvb
from sklearn_cvb import IBM1, GammaPrior, Samples, SplitAndMerge, Valence

DEPENDENCIES = [f"{algorithm}DMV" for algorithm in ("EM", "VB", "CVB", "Gibbs")]
ALIGNMENTS = [f"{algorithm}AlignmentHMM" for algorithm in ("EM", "VB", "CVB", "Gibbs")]
TREEBANKS = [f"{algorithm}LatentPCFG" for algorithm in ("EM", "VB", "CVB")]

_LABELS, _WORDS = ["S", "NP", "VP", "X-Y"], ["the", "dog", "Ran", "7", "-LRB-", "co-op", "é"]
_BAD_TREES = [3, "(S", "(S)", "", "a b", Tree("S", []), None, float("nan"), ["a"], [["a"]]]


def draw(i: int) -> Draw:
    """The call with this number."""
    makers = [_Dependencies, _Alignments, _Treebanks]
    return makers[i % 3](np.random.default_rng([SEED, 1, i])).call()


class _Family(Maker):
    """What the three share: settings of every fit, and reading of new samples."""

    kinds: ClassVar[list[str]]
    own_reads: tuple[str, ...]
    options: ClassVar[dict[str, dict[str, list]]]

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.name = self.one(self.kinds)
        self.alphabet = self.one(ALPHABETS)

    def call(self) -> Draw:
        """All that is drawn, in a fixed order."""
        settings = self.settings()
        samples = self.samples_of_fit()
        X = self.junk() if self.chance(BAD) else self.formed_samples(samples)
        y = self.known(samples) if self.chance(0.5) else None
        reads = [self.read() for _ in range(int(self.rng.integers(1, 5)))]
        return Draw(self.name, settings, X, y, reads)

    def settings(self) -> dict[str, Any]:
        """Settings of the estimator, seldom one that is wrong."""
        given: dict[str, Any] = {
            "alpha": self.concentration(),
            "max_iter": int(self.rng.integers(1, 4)),
            "n_init": self.one([None, 1, 2]),
            "random_state": int(self.rng.integers(100)),
            "tol": self.one([0.0, 1e-4, 10.0]),
            "handle_unknown": self.one(["error", "smooth"]),
            "supervision": self.one(["y", "y", "none"]),
            "warm_start": self.chance(0.3),
            "n_jobs": self.one([None, None, 1, 2]),
            "samples": Samples(
                self.one([None, 0, 1]),
                thin=int(self.rng.integers(1, 3)),
                temperatures=self.one(TEMPERATURES) if self.chance(0.3) else None,
            ),
        }
        given |= self.own_settings()
        if self.chance(3 * BAD):
            given[self.one(sorted(given))] = self.junk()
        named = getattr(sklearn_cvb, self.name)().get_params()
        return {name: value for name, value in given.items() if name in named}

    def read(self) -> tuple[str, dict[str, Any]]:
        """A method and its arguments."""
        name = self.one(["predict", "score", "score_samples", "perplexity", "fit", *self.own_reads])
        given: dict[str, Any] = {}
        if name not in ("sample", "fit"):
            samples = self.samples_of_fit(unknown=True)
            given["X"] = self.junk() if self.chance(BAD) else self.formed_samples(samples)
            if name == "score" and self.chance(0.5):
                given["y"] = self.known(samples)
        for option, values in self.options.get(name, {}).items():
            if self.chance(0.5):
                given[option] = self.junk() if self.chance(2 * BAD) else self.one(values)
        return name, given

    def words(self, n: int, unknown: bool = False) -> list:
        """Tokens of a sentence."""
        alphabet = [*self.alphabet, "new", 7] if unknown else self.alphabet
        return [self.one(alphabet) for _ in range(n)]

    def own_settings(self) -> dict[str, Any]:
        """Settings of this family alone."""
        raise NotImplementedError

    def samples_of_fit(self, unknown: bool = False) -> list:
        """What X holds."""
        raise NotImplementedError

    def formed_samples(self, samples: list) -> Any:
        """Samples in one of the forms that X may have."""
        raise NotImplementedError

    def known(self, samples: list) -> Any:
        """What y holds."""
        raise NotImplementedError


class _Dependencies(_Family):
    kinds = DEPENDENCIES
    own_reads = ("predict", "predict_proba", "sample")
    options: ClassVar = {
        "sample": {"n_samples": [1, 3], "longest": [5, 100], "random_state": [0]},
        "perplexity": {"per": ["token", "sequence"]},
    }

    def own_settings(self) -> dict[str, Any]:
        given = {
            "init": self.one(["harmonic", "harmonic", "uniform", "random"]),
            "temperature": self.one([1.0, 1.0, 0.5, 0.1]),
            "update": self.one(["batch", "batch", "viterbi"]),
            "arc_weights": self.weights() if self.chance(0.3) else None,
        }
        if self.chance(0.1):
            given["alpha"] = GammaPrior(self.one([1.0, 10.0]), self.one([1.0, 0.1]))
        if self.chance(0.5):
            extended = self.chance(0.5)
            given["valence"] = Valence(
                extended,
                backoff=self.one([None, "direction", "head" if extended else None]),
                alpha_backoff=self.one([0.5, 1e-10, 10.0]),
                alpha_stop=self.one([None, 1.0, 1e-10]),
            )
        if self.chance(0.1):
            given["vocabulary"] = self.one([self.alphabet, [*self.alphabet, 99]])
        return given

    def weights(self) -> dict:
        """Of some arcs and roots."""
        if self.chance(2 * BAD):
            return self.one([{}, {"a": 1}, {("a",): 2}, {(1, 2): "x"}, {("no", "none"): 2.0}])
        heads = [None, *self.alphabet]
        arcs = [(self.one(heads), self.one(self.alphabet)) for _ in range(3)]
        return {arc: self.one([0.5, 1, 3.0, 1e3, 1e-3]) for arc in arcs}

    def samples_of_fit(self, unknown: bool = False) -> list:
        lengths = self.rng.integers(1, 7, size=int(self.rng.integers(1, 6)))
        if self.chance(0.1):
            lengths[0] = 20
        return [self.words(length, unknown) for length in lengths]

    formed_samples = Maker.formed

    def known(self, samples: list) -> Any:
        if self.chance(3 * BAD):
            return self.junk()
        if self.chance(BAD):
            return [self.one([[0, 0], [9], ["a"], 3, [1.5], [-2]]) for _ in samples]
        found = [self.heads(len(row)) for row in samples]
        return [None if self.chance(0.4) else self.masked(heads) for heads in found]

    def heads(self, n: int) -> list[int]:
        """Of a random projective tree: the head of each token, from 1; 0 is the root's."""
        heads = [0] * n

        def fill(begin: int, end: int, head: int) -> None:
            if begin < end:
                own = int(self.rng.integers(begin, end))
                heads[own] = head
                split = (
                    int(self.rng.integers(begin, own + 1)),
                    int(self.rng.integers(own + 1, end + 1)),
                )
                for left, right in ((begin, split[0]), (split[0], own), (own + 1, split[1])):
                    fill(left, right, own + 1)
                fill(split[1], end, own + 1)

        fill(0, n, 0)
        return heads

    def masked(self, heads: list[int]) -> list:
        unknown = self.one([None, -1, float("nan")])
        return [unknown if self.chance(0.6) else head for head in heads]


class _Alignments(_Family):
    kinds = ALIGNMENTS
    own_reads = ("predict", "predict_proba")
    options: ClassVar = {"perplexity": {"per": ["token", "sequence"]}}

    def own_settings(self) -> dict[str, Any]:
        given = {
            "beta": self.one([0.001, 0.5, 1e-10, 1e10, self.concentration()]),
            "p_null": self.one([0.2, 0.0, 0.99, (1.0, 1.0), (1e-10, 3.0), 1.0, (0, 1)]),
            "longest_jump": self.one([1, 2, 10, 10, 10_000]),
            "init": self.one(["ibm1", "ibm1", "even", "random", IBM1(1)]),
        }
        if self.chance(0.3):
            given["dictionary"] = self.one(
                [{"a": ["b"]}, {"a": {"b": 50.0}, "c": {"d"}}, {"a": 3}, {}, {"z": {"z": -1}}]
            )
        return given

    def samples_of_fit(self, unknown: bool = False) -> list:
        lengths = self.rng.integers(1, 5, size=(int(self.rng.integers(1, 6)), 2))
        if self.chance(0.1):
            lengths[0] = self.one([(15, 1), (1, 15), (12, 12)])
        return [(self.words(n, unknown), self.words(m, unknown)) for n, m in lengths]

    def formed_samples(self, samples: list) -> Any:
        form = self.one(["pairs", "pairs", "lists", "frame", "series"])
        if form == "frame":
            return pd.DataFrame(samples, columns=["source", "target"])
        if form == "series":
            return pd.Series(samples, index=range(2, 2 + len(samples)))
        return samples if form == "pairs" else [list(pair) for pair in samples]

    def known(self, samples: list) -> Any:
        if self.chance(3 * BAD):
            return self.junk()
        if self.chance(BAD):
            return [self.one([[(9, 9)], ["0-0"], [(0,)], 3, [(0.5, 0)]]) for _ in samples]
        return [None if self.chance(0.4) else self.links(*pair) for pair in samples]

    def links(self, source: list, target: list) -> list[tuple]:
        """A source, or none, of some target words."""
        sources = [None, -1, *range(len(source))]
        return [(self.one(sources), j) for j in range(len(target)) if self.chance(0.5)]


class _Treebanks(_Family):
    kinds = TREEBANKS
    own_reads = ("predict", "parse", "sample")
    options: ClassVar = {
        "sample": {"n_samples": [1, 3], "longest": [5, 100], "random_state": [0]},
        "perplexity": {"per": ["token", "sequence"]},
    }

    def own_settings(self) -> dict[str, Any]:
        return {
            "n_subtypes": self.one([1, 2, 2, 3]),
            "schedule": self.one([*["fixed"] * 4, "split-merge", SplitAndMerge(2)]),
            "smoothing": self.one([0.0, 0.0, 0.1]),
            "update": self.one(["sequence", "sequence", "token"]),
            "init": self.one(["treebank", "random"]),
            "rare_threshold": self.one([0, 1, 1, 5]),
            "horizontal_markovisation": self.one([0, 0, 1, None]),
            "decoding": self.one(["max-rule", "viterbi"]),
        }

    def tree(self, n: int) -> Tree:
        """A random tree over so many words, with chains of one child."""
        label = self.one(_LABELS)
        if n == 1:
            word = Tree(self.one(["N", "V"]), [self.one(_WORDS)])
            return Tree(label, [word]) if self.chance(0.3) else word
        cuts = sorted({0, n, *self.rng.integers(1, n, size=int(self.rng.integers(1, 4))).tolist()})
        parts = [self.tree(end - begin) for begin, end in pairwise(cuts)]
        return Tree(label, parts)

    def samples_of_fit(self, unknown: bool = False) -> list:
        trees = [self.tree(int(n)) for n in self.rng.integers(1, 7, size=self.rng.integers(1, 7))]
        for tree in trees:
            if unknown and self.chance(0.5):
                tree[tree.leaf_treeposition(0)] = self.one(["new", "Unseen", "12.5", "x-ly"])
            tree.set_label("S")
        if self.chance(BAD):
            trees[0] = self.one(_BAD_TREES)
        return trees

    def formed_samples(self, samples: list) -> Any:
        texts = [" ".join(str(tree).split()) for tree in samples]
        form = self.one(["trees", "texts", "words", "series"])
        if form == "series":
            return pd.Series(samples, index=range(2, 2 + len(samples)), dtype=object)
        if form == "words":
            return [tree.leaves() if isinstance(tree, Tree) else tree for tree in samples]
        return texts if form == "texts" else samples

    def known(self, samples: list) -> Any:
        if self.chance(2 * BAD):
            return self.junk()
        return samples[:-1] if self.chance(BAD) else samples
