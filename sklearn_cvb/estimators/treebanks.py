"""What all treebank grammars share: a fit from reading to what it leaves, predictions."""

from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.estimators.base import BaseModel, learned_of
from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.learned import Learned, Left, Reading
from sklearn_cvb.learning.loop import record_of
from sklearn_cvb.learning.model import Fit
from sklearn_cvb.learning.split_merge import SplitMerge
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Taken, object_array, shown
from sklearn_cvb.reading.validation import CHECKPOINT_PARAMETERS, Interval, Seed, StrOptions, tell
from sklearn_cvb.treebank.binarise import Output, Treebank, binarised, to_charts, to_nltk
from sklearn_cvb.treebank.inference import Problem
from sklearn_cvb.treebank.model import AnnotatedModel, TokenAnnotatedModel, plan_of
from sklearn_cvb.treebank.parameters import (
    LatentPCFGCounts,
    layout_of,
    mean_weights,
    predicting_weights,
    with_any_word,
)
from sklearn_cvb.treebank.prediction import log_likelihoods, parse, sample_parses
from sklearn_cvb.treebank.reading import (
    Gold,
    are_trees,
    gold_from,
    is_tree,
    lexicon_of,
    sentences_in,
    trees_in,
    without_top,
)


class BaseLatentPCFG(BaseModel):
    """What is read, what a fit leaves, and what is predicted; an estimator adds its algorithm."""

    _unexplained_words = "trees have no weight"

    # How subtypes are learned between splits and merges.
    _sweeps: type[Algorithm]
    # What to use where leaving out one giant tree leaves little; empty for what leaves none out.
    _in_place_of_leaving_out = ""
    # A pseudo-count that only some models add, and a way to leave out.
    smoothing = 0.0
    update = "sequence"

    # Words are those of the treebank, and no parameter says which.
    vocabulary = None

    _parameter_constraints: dict = {  # noqa: RUF012
        "n_subtypes": [Interval(Integral, 1, 1024, closed="both")],
        "schedule": [StrOptions({"fixed", "split-merge"})],
        "round_length": [Interval(Integral, 2, None, closed="left")],
        "merge_share": [Interval(Real, 0, 1, closed="left")],
        "alpha": [Interval(Real, SMALLEST, LARGEST, closed="both")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"treebank", "random"})],
        "rare_threshold": [Interval(Integral, 0, None, closed="left")],
        "horizontal_markovisation": [Interval(Integral, 0, None, closed="left"), None],
        "decoding": [StrOptions({"max-rule", "viterbi"})],
        "warm_start": ["boolean"],
        **CHECKPOINT_PARAMETERS,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def _read(self, X: Any, y: Any) -> Reading:
        self._check_parameters()
        (sequences, attributes, messages), gold = self._gold(X, y)
        starts = sequences.starts.tolist()
        reading.types_of(sequences.tokens, sequences.starts)
        lexicon = lexicon_of(sequences.tokens, starts[:-1], int(self.rare_threshold))
        known = {"vocabulary_": reading.as_array(list(lexicon.codes)[: lexicon.n_words])}
        corpus = reading.encode(sequences, lexicon.codes)
        reading.refuse_missing(corpus)
        numbers = lexicon.numbers(sequences.tokens, starts[:-1])
        horizontal = self.horizontal_markovisation
        treebank = binarised(
            gold.trees, numbers, gold.top, None if horizontal is None else int(horizontal)
        )
        if self._in_place_of_leaving_out:
            messages += reading.caution_of_giant(corpus, self._in_place_of_leaving_out)
        return Reading(Problem(corpus, treebank), lexicon, attributes | known, messages)

    def _check_parameters(self) -> None:
        """Checks that the declared constraints cannot express."""

    def _gold(self, X: Any, y: Any) -> tuple[Taken, Gold]:
        """Sentences and their trees."""
        if is_tree(X):
            raise TypeError(f"X is {shown(X)}, a single tree: pass a list of trees")
        if are_trees(X):
            if y is not None:
                raise ValueError("X holds trees, and so does y: pass sentences and trees, or trees")
            gold = without_top(trees_in(X, "X"))
            return Taken(sentences_in(gold.trees), {}), gold
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: pass "
                "the tree of each sentence, fit(sentences, trees) or fit(trees)"
            )
        taken = reading.sequences_to_fit(self, X, y)
        return taken, gold_from(y, taken.sequences)

    def _model(self, read: Reading) -> AnnotatedModel:
        most, schedule = int(self.n_subtypes), self.schedule
        treebank, n_first = read.problem.treebank, 1 if schedule == "split-merge" else most
        layout = layout_of(treebank.rules(np.full(len(treebank.symbols), n_first)))
        alpha, share = float(self.alpha), float(self.merge_share)
        kind = TokenAnnotatedModel if self.update == "token" else AnnotatedModel
        return kind(read.problem, layout, self.init, alpha, most, share, schedule)

    def _algorithm(self) -> SplitMerge:
        """One between whose sweeps subtypes are split and merged as `schedule` says."""
        plan = plan_of(self.schedule, int(self.n_subtypes), int(self.round_length))
        return SplitMerge(self._sweeps(), plan)

    def _fixed_start(self, read: Reading) -> str:
        return "without subtypes nothing is hidden" if self.n_subtypes == 1 else ""

    def _left(self, fits: list[Fit], read: Reading) -> Left:
        best, record = record_of(fits)
        state, treebank = best.state, read.problem.treebank
        layout, algorithm = state.layout, self._algorithm()
        model, labels = self._model(read).laid_out(layout), reading.as_array(treebank.labels())
        counts = LatentPCFGCounts(algorithm.final_counts(state), layout.rules.first)
        attributes = {
            "counts_": counts,
            "symbols_": labels,
            **record,
            "alpha_": float(self.alpha),
            **algorithm.attributes(best, model),
        }
        learned = Learned(
            words=read.words,
            layout=layout,
            prior=float(self.alpha),
            counts=counts,
            kept=model.whole(state.weights),
            averages=algorithm.averages,
            more=Output(
                treebank.symbols, treebank.paths, treebank.top, _usual_root(treebank), labels
            ),
        )
        return Left(learned, attributes)

    def _identity(self, read: Reading) -> tuple[Any, ...]:
        """Sentences and trees."""
        treebank = read.problem.treebank
        return treebank.symbols, treebank[1:5], treebank.trees

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    # What a fit has learned, whichever algorithm left it

    @property
    def rules_(self) -> list[tuple]:
        """The rules before annotation, as pairs (parent, children) of names; None is the root.

        Names of helper symbols begin with ``@``. The word of a rule is as in `vocabulary_`, or a
        class of rare words.
        """
        learned = learned_of(self)
        rules, words = learned.layout.rules, list(learned.words.codes)
        names = list(map(str, learned.more.symbols))
        rows = zip(rules.parent.tolist(), rules.left.tolist(), rules.right.tolist(), strict=True)
        found: list[tuple] = []
        for number, (parent, left, right) in enumerate(rows):
            first = words[left] if number >= rules.begin[3] else names[left]
            children = (first,) if right < 0 else (first, names[right])
            found.append((None if parent < 0 else names[parent], children))
        return found

    @property
    def rule_probabilities_(self) -> np.ndarray:
        """Posterior means of all annotated rules, shape (n_cells,), in the order of ``counts_``."""
        return mean_weights(learned_of(self), self.smoothing)

    @property
    def n_subtypes_(self) -> dict:
        """The number of subtypes of each symbol of ``rules_``."""
        learned = learned_of(self)
        names = map(str, learned.more.symbols)
        return dict(zip(names, learned.layout.rules.n_subtypes.tolist(), strict=True))

    def predict(self, X: Any) -> np.ndarray:
        """The best tree of each sentence, as `decoding` says.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            Trees stand for their words.

        Returns
        -------
        ndarray
            An object array of nltk.Tree, labelled and branching as in the treebank; for a 2-D X
            charts of shape (n_samples, length, length + 1), int: cell [i, begin, end] is one more
            than the index in `symbols_` of the label of X[i, begin:end] (the highest, where
            several), 0 where there is none. A sentence that cannot be derived gets a flat tree.
        """
        learned = learned_of(self)
        trees, corpus = self._trees(learned, X)
        return (
            object_array(trees) if corpus.width is None else to_charts(trees, learned.more, corpus)
        )

    def parse(self, X: Any) -> np.ndarray:
        """The best tree of each sentence as nltk.Tree, whatever the form of X.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
            Trees stand for their words.

        Returns
        -------
        ndarray of shape (n_samples,), object
            As `predict` gives them for sentences.
        """
        return object_array(self._trees(learned_of(self), X)[0])

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and parse the training sentences.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray
            Trees or charts as `predict` gives them.
        """
        return self.fit(X, y).predict(X)

    def sample(
        self, n_samples: int = 1, longest: int = 100, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sentences and their trees from the model with posterior-mean probabilities.

        Parameters
        ----------
        n_samples : int, default=1
        longest : int, default=100
            Derivations of more words are drawn again.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples,), object
            Lists of words. For a rare word stands the name of its class, such as "<word small>";
            the model reads it as that.
        trees : ndarray of shape (n_samples,), object
            Their nltk.Tree, as `predict` gives them.
        """
        learned = learned_of(self)
        lexicon, rng = learned.words, check_random_state(random_state)
        weights = mean_weights(learned, self.smoothing)
        numbers, parses = sample_parses(learned.layout, weights, n_samples, longest, rng)
        n_words = lexicon.n_words
        names = [name if i < n_words else str(name) for i, name in enumerate(lexicon.codes)]
        sentences = [[names[word] for word in words] for words in numbers]
        return object_array(sentences), object_array(to_nltk(learned.more, parses, sentences))

    def _sequences(self, X: Any) -> Sequences:
        return sentences_in(trees_in(X, "X")) if are_trees(X) else reading.sequences_again(self, X)

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, int]:
        corpus = _numbered(learned, self._sequences(X))
        rules, weights = with_any_word(learned, mean_weights(learned, self.smoothing))
        logs = log_likelihoods(rules, weights, *corpus[:2], n_jobs=self.n_jobs)
        return logs, len(corpus.tokens)

    def _trees(self, learned: Learned, X: Any) -> tuple[list, Corpus]:
        """The best trees in a user's labels; a warning tells of sentences without any."""
        sequences = self._sequences(X)
        corpus = _numbered(learned, sequences)
        rules, weights = with_any_word(learned, predicting_weights(learned, self.smoothing))
        parses = parse(rules, weights, *corpus[:2], decoding=self.decoding, n_jobs=self.n_jobs)
        without = np.flatnonzero(np.diff(parses.starts) == 0)
        if len(without):
            tell(
                [
                    f"no tree derives sentences {without[:5].tolist()} ({len(without)} in all): "
                    "each gets a flat tree"
                ]
            )
        sentences = [sequences.tokens[a:b] for a, b in pairwise(corpus.starts.tolist())]
        return to_nltk(learned.more, parses, sentences), corpus


def _usual_root(treebank: Treebank) -> Any:
    """The most frequent root of trees."""
    n = len(treebank.roots)
    return treebank.symbols[treebank.roots[int(treebank.counts[:n].argmax())]].label


def _numbered(learned: Learned, sequences: Sequences) -> Corpus:
    """Sentences in the numbers that rules have for words."""
    lexicon = learned.words
    corpus = reading.encode(sequences, lexicon.codes)
    reading.refuse_missing(corpus)
    numbers = lexicon.numbers(sequences.tokens, corpus.starts[:-1].tolist())
    return corpus._replace(tokens=np.array(numbers, np.int32))
