"""The demo's experiment: several fits of each tagger, and tagging of held-out sentences."""

import math
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from sklearn_cvb.demo.text import HeldOutText, TaggingText
from sklearn_cvb.estimators.taggers import CVBHMMTagger, EMHMMTagger, GibbsHMMTagger, VBHMMTagger
from sklearn_cvb.metrics import token_accuracy
from sklearn_cvb.settings import Samples

_MEASURED_SWEEPS = 60
# Algorithms are compared as in the paper: on the dictionary as it is, over random starts.
COMPARED: dict[Any, Any] = {"init": "token", "tag_dictionary__denoise": "none"}


class TaggerDefinition(NamedTuple):
    """A tagger of the main job: how it is shown, its class, the arguments that set it apart."""

    title: str
    tagger_class: type
    arguments: dict[Any, Any]


ALGORITHMS = {
    "em": TaggerDefinition("EM", EMHMMTagger, {}),
    "vb": TaggerDefinition("VB", VBHMMTagger, {}),
    "cvb-token": TaggerDefinition("CVB token", CVBHMMTagger, {"update": "token"}),
    "cvb-sequence": TaggerDefinition("CVB sequence", CVBHMMTagger, {"update": "sequence"}),
    "gibbs": TaggerDefinition(
        "Gibbs", GibbsHMMTagger, {"samples": Samples(temperatures=(2.0, 0.08))}
    ),
}

# Emission concentrations by min_count, chosen on Wall Street Journal text: (from, beta) pairs.
_BETAS = {
    "em": ((1, 0.0),),
    "vb": ((1, 0.03), (2, 0.1)),
    "cvb-token": ((1, 0.03), (5, 0.01)),
    "cvb-sequence": ((1, 0.03), (10, 0.1)),
    "gibbs": ((1, 0.03),),
}


class DemoSettings(NamedTuple):
    """How the taggers are fitted; `alpha` and `beta` hold the values given, by algorithm."""

    alpha: dict[Any, Any]
    beta: dict[Any, Any]
    min_count: int
    restarts: int
    max_iter: int
    gibbs_sweeps: int
    jobs: int
    seed: int

    def sweeps(self, name: str) -> int:
        """Number of sweeps of an algorithm."""
        return self.gibbs_sweeps if name == "gibbs" else self.max_iter

    def concentrations(self, name: str) -> tuple[float, float]:
        """(alpha, beta) of an algorithm: those given, else those known to do well."""
        alpha = 0.0 if name == "em" else 1.0
        beta = [value for least, value in _BETAS[name] if self.min_count >= least][-1]
        return self.alpha.get(name, alpha), self.beta.get(name, beta)


class RestartScore(NamedTuple):
    """One fit: token accuracy of its tags, seconds, and (sweeps, accuracies) where watched."""

    accuracy: float
    seconds: float
    curve: tuple[Any, ...]


class HeldOutScores(NamedTuple):
    """Tagging of held-out sentences; NaN where there is no such word."""

    known: float
    unknown: float
    perplexity: float
    tagger: Any


class AccuracyWatch:
    """A scikit-learn callback: reports sweeps, measures accuracy after some, stops on request."""

    def __init__(
        self,
        on_sweep: Callable[[], object],
        stop: threading.Event,
        y: list[Any] | None = None,
        due: Iterable[int] = (),
    ) -> None:
        self.on_sweep = on_sweep
        self.stop = stop
        # Compared some fifty times in a fit: faster as one array than with `token_accuracy`.
        self.gold: np.ndarray = _flat(y or [])
        self.due: frozenset[int] = frozenset(due)  # sweeps, counted from 0
        self.sweeps: list[int] = []  # counted from 1
        self.accuracies: list[float] = []
        self.seconds: float = 0.0  # spent on measuring
        self._is_due, self._begin = False, 0.0

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to clear away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Note whether and when the measuring of a sweep begins."""
        self._is_due = context.task_name == "sweep" and context.task_id in self.due
        self._begin = perf_counter()

    @property
    def on_fit_task_end(self) -> Callable[..., Any]:
        """The hook; it asks for the fitted estimator, which costs a decoding, only when due."""
        return self._measure if self._is_due else self._end_sweep

    def _end_sweep(self, estimator: Any, context: Any) -> bool:
        if context.task_name == "sweep":
            self.on_sweep()
        return self.stop.is_set()

    def _measure(self, estimator: Any, context: Any, *, fitted_estimator: Any = None) -> bool:
        self._is_due = False
        self.sweeps.append(context.task_id + 1)
        right, known = _flat(fitted_estimator.labels_) == self.gold, self.gold != np.array(None)
        self.accuracies.append(float(right[known].mean()))
        self.seconds += perf_counter() - self._begin
        return self._end_sweep(estimator, context)


def _flat(tags: Iterable[Any]) -> np.ndarray:
    """The tags of all sentences as one array of objects."""
    every = [tag for sentence in tags for tag in sentence]
    return np.fromiter(every, object, len(every))


def tagger_for(name: str, text: TaggingText, settings: DemoSettings) -> Any:
    """An unfitted tagger of an algorithm, by the text's dictionary."""
    alpha, beta = settings.concentrations(name)
    tagger = ALGORITHMS[name].tagger_class(
        text.dictionary,
        supervision="none",
        alpha=alpha,
        beta=beta,
        max_iter=settings.sweeps(name),
        random_state=settings.seed,
        **ALGORITHMS[name].arguments,
        **({} if name == "gibbs" else {"tol": 0}),
    )
    return tagger.set_params(**COMPARED)


def warm_up(name: str, text: TaggingText, settings: DemoSettings) -> None:
    """Fit a few sentences for one sweep, so that no timing holds a compilation."""
    tagger = tagger_for(name, text, settings._replace(max_iter=1, gibbs_sweeps=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tagger.set_params(emission__handle_unknown="error").fit(text.X[:20])


def run_restarts(
    name: str, text: TaggingText, settings: DemoSettings, on_sweep: Callable[[], object]
) -> Iterator[RestartScore]:
    """Fit an algorithm from several random starts, on `settings.jobs` threads.

    Restarts come in order; the first has the accuracy by sweep.
    """
    stop = threading.Event()
    jobs = Parallel(n_jobs=settings.jobs, prefer="threads", return_as="generator")
    try:
        yield from jobs(
            delayed(_run_restart)(name, text, settings, index, on_sweep, stop)
            for index in range(settings.restarts)
        )
    finally:
        stop.set()


def _run_restart(
    name: str,
    text: TaggingText,
    settings: DemoSettings,
    index: int,
    on_sweep: Callable[[], object],
    stop: threading.Event,
) -> RestartScore:
    tagger = tagger_for(name, text, settings)
    tagger.set_params(emission__handle_unknown="error", random_state=settings.seed + index)
    due = measured_sweeps(settings.sweeps(name)) if index == 0 else ()
    watch = AccuracyWatch(on_sweep, stop, text.y, due)
    begin = perf_counter()
    tagger.set_callbacks(watch).fit(text.X)
    seconds = perf_counter() - begin - watch.seconds
    accuracy = token_accuracy(text.y, tagger.labels_)
    return RestartScore(accuracy, seconds, (watch.sweeps, watch.accuracies))


def measured_sweeps(n_sweeps: int) -> Collection[int]:
    """Sweeps after which the accuracy is measured: all, or closest together in the beginning."""
    if n_sweeps <= _MEASURED_SWEEPS:
        return range(n_sweeps)
    return (np.unique(np.geomspace(1, n_sweeps, _MEASURED_SWEEPS).astype(int)) - 1).tolist()


def tag_unseen(
    name: str, held_out: HeldOutText, settings: DemoSettings, on_sweep: Callable[[], object]
) -> HeldOutScores:
    """Learn from the training sentences, and tag and foresee those held out."""
    tagger = tagger_for(name, held_out.training, settings)
    tagger.set_callbacks(AccuracyWatch(on_sweep, threading.Event())).fit(held_out.training.X)
    predicted = tagger.predict(held_out.X)
    known, unknown = (_accuracy_where(known, held_out, predicted) for known in (True, False))
    # The taggers' own `perplexity` refuses annealed samples; the score of averaged parameters is
    # defined for every algorithm.
    perplexity = math.exp(-tagger.score(held_out.X))
    return HeldOutScores(known, unknown, perplexity, tagger.set_callbacks())


def _accuracy_where(known: bool, held_out: HeldOutText, predicted: Any) -> float:
    gold = [
        [tag if is_known is known else None for tag, is_known in zip(*row, strict=True)]
        for row in zip(held_out.y, held_out.is_known, strict=True)
    ]
    if all(tag is None for tags in gold for tag in tags):
        return math.nan
    return token_accuracy(gold, predicted)
