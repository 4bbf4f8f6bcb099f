"""A dependency model's part in a fit, below its estimators: options, reads X and y, makes the
model, and of the result `Learned` and fitted attributes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from sklearn_cvb.dependency import inference
from sklearn_cvb.dependency.arc_weights import advice_on_tags, arc_weights_from
from sklearn_cvb.dependency.inference import DependencyProblem, HeadTrees
from sklearn_cvb.dependency.known import known_heads_from
from sklearn_cvb.dependency.model import DependencyModel, first_concentrations
from sklearn_cvb.dependency.parameters import DependencyLayout, counts_from, rare_counts, rare_tags
from sklearn_cvb.dependency.prediction import DependencyExtras
from sklearn_cvb.kernels.dependency.arrays import UNKNOWN_HEAD
from sklearn_cvb.learning.gibbs import means_over_samples
from sklearn_cvb.learning.learned import FamilyObservation, FitOutcome, FitResult, Learned, Reading
from sklearn_cvb.learning.model import NOBODY
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, KnownWords
from sklearn_cvb.settings import ArcWeights, GammaPrior, Valence

# A fit holds so many tables of all cells at a time; from so many gigabytes on a warning says so.
_TABLES, _MANY_GIGABYTES = 10, 1.0
# Starts that the seed decides.
RANDOM_STARTS = ("uniform", "random")


class DependencyOptions(NamedTuple):
    """Parameters of a dependency model, checked; to read a fitted one takes the words alone."""

    words: KnownWords = KnownWords(None, "smooth")
    alpha: float | str | GammaPrior = 0.1
    valence: Valence = Valence()
    arc_weights: ArcWeights = ArcWeights()
    init: str | Learned = "harmonic"  # or what a fit has left
    supervision: str = "y"
    temperature: float = 1.0  # of the E-step of EM
    alternative: str = ""  # what to use where leaving out one giant sentence leaves little


@dataclass(frozen=True)
class DependencyObservation(FamilyObservation):
    """Tags and their heads, under options."""

    options: DependencyOptions

    def read(self, X: Any, y: Any = None) -> Reading:
        """X and y, to be fitted to."""
        options = self.options
        sequences, attributes, messages = reading.sequences_to_fit(options.words, X, y)
        words = reading.vocabulary_of(reading.types_to_learn(options.words, sequences))
        corpus, n_types = reading.encode(sequences, words.index), len(words.index)
        reading.refuse_missing(corpus, "a dependency model")
        corpus = reading.checked(options.words, corpus, sequences, n_types)
        heads = known_heads_from(y if options.supervision == "y" else None, corpus)
        n_types += options.words.handle_unknown != "error"
        valence = options.valence
        layout = DependencyLayout(n_types, 1 + valence.extended, valence.backoff)
        arc_weights = arc_weights_from(options.arc_weights, words.index, n_types)
        is_raw = bool((heads == UNKNOWN_HEAD).all())
        if is_raw and arc_weights is None:
            messages += advice_on_tags(words.index)
        sentences = inference.sentences_of(corpus, layout, heads, arc_weights)
        if not is_raw:
            inference.refuse_impossible(sentences, layout)
        alpha_backoff = float(valence.alpha_backoff)
        problem = DependencyProblem(corpus, list(words.index), sentences, layout, alpha_backoff)
        gigabytes = _TABLES * 8 * layout.n_cells / 1e9
        if gigabytes > _MANY_GIGABYTES:
            messages += (
                f"{layout.n_types} tags have {layout.n_cells:,} parameters, two for each pair: a "
                f"fit needs about {gigabytes:.1f} GB; put one tag for all rare words, or use "
                "part-of-speech tags",
            )
        if options.alternative:
            messages += reading.caution_of_giant(sequences, options.alternative)
        return Reading(problem, words, attributes | {"vocabulary_": words.types}, messages, self)

    def model(self, reading: Reading) -> DependencyModel:
        """The model of what was read, for algorithms to learn."""
        options, problem = self.options, reading.problem
        first = first_concentrations(options.alpha, options.valence)
        has_rare = options.words.handle_unknown == "rare"
        rare = rare_tags(problem.corpus) if has_rare else NOBODY
        return DependencyModel(problem, first, options.init, rare, options.temperature)

    def fixed_start(self, reading: Reading) -> str:
        """Why all restarts begin alike; empty where their starts are random."""
        init = self.options.init
        if not isinstance(init, str):
            return "init says where to start"
        return "" if init in RANDOM_STARTS else "the harmonic start leaves nothing to chance"

    def outcome(self, result: FitResult) -> FitOutcome:
        """What is learned, and the fitted attributes, from the best restart."""
        best, _, read, algorithm, model, cells = result
        state, layout = best.state, read.problem.layout
        counts, rare = counts_from(cells, layout), rare_counts(cells, model.rare_tags, layout)
        heads = model.heads(state, averages=algorithm.averages)
        means = means_over_samples(state, model) if isinstance(state.shares, HeadTrees) else None
        averages, weights = algorithm.averages, state.weights
        more = DependencyExtras(read.problem.sentences.arc_weights, means)
        learned = Learned(read.words, layout, state.prior, counts, weights, rare, averages, more)
        attributes = {
            "counts_": counts,
            "labels_": reading.arrange(read.problem.corpus, heads, UNKNOWN_HEAD),
            "alpha_": float(state.hyper.values[0]),
            "alpha_stop_": float(state.hyper.values[1]),
        }
        return FitOutcome(learned, attributes)

    def encoded(self, learned: Learned, X: Any) -> Corpus:
        """X in numbers of the tags of a fit."""
        corpus = reading.encoded_again(self.options.words, learned.words.index, X)
        reading.refuse_missing(corpus, "a dependency model")
        return corpus
