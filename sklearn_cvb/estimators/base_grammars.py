"""What all grammars share: groups of parameters, reading, what a fit leaves, parses."""

from dataclasses import field
from numbers import Real
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from sklearn_cvb.estimators.base import BaseModel
from sklearn_cvb.estimators.door import known_words, learned_of
from sklearn_cvb.estimators.parameters import (
    Count,
    GammaPrior,
    OptionalVocabulary,
    Parameters,
    Supervision,
    UnknownWords,
)
from sklearn_cvb.grammar import prediction
from sklearn_cvb.grammar.grammar import Grammar, with_product_rules
from sklearn_cvb.grammar.inference import expectation
from sklearn_cvb.grammar.layout import GrammarOptions, new_problem
from sklearn_cvb.grammar.model import RANDOM_STARTS
from sklearn_cvb.grammar.observation import GrammarObservation
from sklearn_cvb.grammar.sampling import sample_trees, without_unknown
from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus, object_array, unknown_in
from sklearn_cvb.reading.unknown_tokens import caution_of_unknown
from sklearn_cvb.reading.validation import (
    HasMethods,
    Interval,
    Seed,
    StrOptions,
    check_counts,
    warn,
)


class RuleFields(Parameters):
    """What a grammar is.

    Parameters
    ----------
    grammar : str, nltk.CFG, nltk.PCFG, Grammar, list of trees or None
        The rules: text in NLTK's notation, a grammar of NLTK's, a `Grammar`, or a treebank to read
        the rules off. Right-hand sides may have any length and mix symbols with words; unary rules
        may form cycles; several words alone are one terminal. Empty rules are refused. The terminal
        ``<unk>`` stands for all words outside the vocabulary (see `handle_unknown`). None: all
        rules A -> B C and A -> word over `n_components` symbols.
    n_components : int
        Number of symbols where no grammar is given; the start symbol is one of them.
    rules : {"full", "independent"}
        Where no grammar is given: one probability for each rule A -> B C; or p(A -> B C) =
        p(binary | A) p(B | A, left) p(C | A, right). Independent children cost a K-th, so that K =
        `n_components` may be in the hundreds (Liu et al. 2023). Then ``rules_`` has, for each
        symbol A, a left part ``A.left`` and a right part ``A.right``, with rules A -> A.left
        A.right, A.left -> B and A.right -> C instead of all A -> B C; trees do not show them.
    alpha : float, "auto", GammaPrior, dict or array-like of shape (n_rules,)
        Concentration of the Dirichlet prior of the rules of each symbol, 1e-10 to 1e10. A dict has
        one value per symbol, an array one per rule, in the order of ``rules_.rules``. "auto", or
        the prior of the concentration, learns one value while fitting (one step of Wang and Blunsom
        2013, HMM, eq. 29, per sweep, from sweep 20 on).

    Attributes
    ----------
    counts_ : PCFGCounts
        Expected counts after the last E-step, one E-step newer than the bound.
    rules_ : Grammar
        The rules as given, in the order of all arrays over rules.
    rule_probabilities_ : ndarray of shape (n_rules,)
        Posterior means; they sum to 1 over the rules of a symbol.
    grammar_ : nltk.PCFG
        The rules with these probabilities.
    symbols_ : ndarray of shape (n_symbols,)
        Labels of the nonterminal symbols.
    labels_ : ndarray
        Trees of the training sentences, in the form that `predict` gives: Viterbi trees under the
        exp E[log] weights of the final counts.
    vocabulary_ : ndarray of shape (n_words,)
        The known words.
    """

    grammar: Annotated[Any, str, Grammar, HasMethods("productions"), "array-like", None] = field(
        default=None, kw_only=False
    )
    n_components: Count = 2
    rules: Annotated[str, StrOptions({"full", "independent"})] = "full"
    alpha: Annotated[
        float | str | GammaPrior | dict[Any, Any] | ArrayLike,
        Interval(Real, SMALLEST, LARGEST, closed="both"),
        StrOptions({"auto"}),
        GammaPrior,
        dict,
        "array-like",
    ] = 0.1


class SentenceFields(Parameters):
    """Where a fit starts, and how sentences and their trees are read.

    Parameters
    ----------
    init : {"parameter", "uniform", "trees", "grammar"}, array, model or None
        The weights of the first E-step, under which samplers draw their first trees: by one of the
        names, an array of shape (n_rules,) in the order of ``rules_.rules``, or those of a fitted
        model over the same rules; None is what suits the grammar. :ref:`grammar-starts` has what
        each is for, and when only one restart is run.
    handle_unknown : {"error", "smooth", "rare"}
        Words outside the vocabulary: refuse them; let the rules A -> ``<unk>`` derive them, which a
        given grammar may lack; or give these rules the mean expected count of the words seen once
        as well. :ref:`unknown-words` compares the ways.
    vocabulary : collection or None
        The known words where no grammar is given; None for those seen in `fit`.
    supervision : {"y", "none"}
        Whether `fit` learns from the trees or brackets in `y` where they are known. With "none" `y`
        is ignored: choosing `alpha` by bracket scores must not train on the gold trees.
    """

    init: Annotated[
        Any,
        StrOptions({*RANDOM_STARTS, "grammar"}),
        HasMethods("score_samples"),
        "array-like",
        None,
    ] = None
    handle_unknown: UnknownWords = "smooth"
    vocabulary: OptionalVocabulary = None
    supervision: Supervision = "y"


class BasePCFG(BaseModel):
    """What is read, what a fit leaves, and predictions from it; an estimator adds its algorithm.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_rules,)
        Concentrations of the last sweep.
    unexplained_ : ndarray
        Indices of training sentences that the grammar cannot derive; they are left out of the
        counts.
    """

    _unexplained_words = "sentences cannot be derived by the grammar"
    _still_changed = "words were still derived by other rules"

    # Whether a concentration may be 0.
    _zero_alpha = False
    # Whether probabilities are drawn before each sample of trees.
    _draws_probabilities = False

    # What is asked for becomes a value

    def _observation(self, to_fit: bool = False) -> GrammarObservation:
        return GrammarObservation(self._options(to_fit))

    def _options(self, to_fit: bool = True) -> GrammarOptions:
        options = GrammarOptions(known_words(self))
        if not to_fit:
            return options
        init = self.init
        if hasattr(init, "rule_probabilities_"):
            known = init.rules_
            init = Grammar(known.symbols, known.start, known.rules, init.rule_probabilities_)
        return options._replace(
            grammar=self.grammar,
            n_components=self.n_components,
            rules=self.rules,
            alpha=self.alpha,
            allows_zero=self._zero_alpha,
            init=init,
            supervision=self.supervision,
            draws_probabilities=self._draws_probabilities,
            alternative=self._in_place_of_leaving_out,
        )

    # Predictions

    @property
    def rule_probabilities_(self) -> np.ndarray:
        """Posterior mean of each rule's probability, shape (n_rules,), ordered as ``rules_``."""
        return prediction.mean_weights(learned_of(self))

    @property
    def grammar_(self) -> Any:
        """The learned grammar as an nltk.PCFG: posterior means."""
        learned = learned_of(self)
        layout, probabilities = learned.layout, prediction.mean_weights(learned)
        if layout.is_factored:
            return with_product_rules(layout.grammar, probabilities, layout.n_shown)
        return layout.grammar.to_nltk(probabilities)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable tree of each sentence.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            An object array of nltk.Tree; for a 2-D X charts of shape (n_samples, length,
            length + 1), int: cell [i, begin, end] is one more than the index in `symbols_` of the
            label of X[i, begin:end] (the highest, where several), 0 where there is none. A
            sentence that cannot be derived gets the flat tree below the start symbol.
        """
        return self._trees(X)

    def _trees(self, X: Any) -> np.ndarray:
        """What `predict` gives."""
        learned = learned_of(self)
        return prediction.best_trees(learned, *self._encoded(learned, X))

    def parse(self, X: Any, n_best: int | None = None) -> np.ndarray:
        """The most probable trees of each sentence as nltk.Tree, whatever the form of X.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)
        n_best : int or None, default=None
            How many derivations to give for each sentence; None for the best one alone.

        Returns
        -------
        ndarray of shape (n_samples,), object
            Trees in the symbols of the grammar as it was given. A sentence that cannot be derived
            gets the flat tree below the start symbol. With `n_best`: lists of pairs (tree, log
            weight in nats), the heaviest first, empty for a sentence that cannot be derived.
        """
        learned = learned_of(self)
        corpus, words = self._encoded(learned, X)
        corpus = corpus._replace(width=None)
        if n_best is None:
            return prediction.best_trees(learned, corpus, words)
        check_counts(n_best=n_best)
        return object_array(prediction.best_derivations(learned, corpus, words, n_best))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Expected number of constituents of each label over each span.

        Without cycles of unary rules this is the probability that the span has the label.

        Parameters
        ----------
        X : list, object array or Series of sequences, or array of shape (n_samples, length)

        Returns
        -------
        ndarray
            For each sentence a table of shape (length, length + 1, n_symbols) whose cell
            [begin, end, a] belongs to the words [begin:end] and ``symbols_[a]``; stacked for a 2-D
            X, else in an object array. NaN where a sentence cannot be derived.
        """
        return self._probabilities(X)

    def _probabilities(self, X: Any) -> np.ndarray:
        """What `predict_proba` gives."""
        learned = learned_of(self)
        return prediction.labelled_spans(learned, *self._encoded(learned, X))

    def sample(
        self, n_samples: int = 1, longest: int = 100, random_state: Seed = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw sentences and their trees from the grammar with posterior-mean probabilities.

        Parameters
        ----------
        n_samples : int, default=1
        longest : int, default=100
            Derivations of more words are drawn again.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        X : ndarray of shape (n_samples,), object
            Lists of words. ``<unk>``, the terminal of unknown words, is drawn only from symbols
            that derive nothing without it.
        trees : ndarray of shape (n_samples,), object
            Their nltk.Tree.
        """
        learned = learned_of(self)
        layout, theta = learned.layout, prediction.mean_weights(learned)
        theta = without_unknown(layout.grammar, theta, layout.unknown_cells)
        rng = check_random_state(random_state)
        return sample_trees(layout.grammar, theta, n_samples, longest, rng, layout.n_shown)

    def _encoded(self, learned: Learned, X: Any) -> tuple[Corpus, list[Any]]:
        return self._observation().encoded(learned, self._checked_input(X))

    def _log_likelihoods(self, learned: Learned, X: Any) -> tuple[np.ndarray, np.ndarray]:
        corpus, words = self._encoded(learned, X)
        if not len(learned.layout.unknown_cells):
            # Of trees it is told which sentences have none.
            index = learned.words.index
            warn(caution_of_unknown(unknown_in(corpus, index), index))
        problem = new_problem(learned.layout, corpus, words)
        _, log_z = expectation(prediction.mean_weights(learned), problem, with_counts=False)
        return log_z, corpus.observed_lengths
