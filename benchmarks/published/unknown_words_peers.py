"""Other libraries' taggers, learned from tagged sentences: NLTK's, and sklearn-crfsuite's."""

from collections import Counter

from sklearn_cvb.chain.tags.word_forms import shape_of, suffixes_of

# NLTK's beam of 1,000 takes a minute for what this takes seconds for, and finds the same.
_BEAM = 100
# Words with more uses teach no endings.
_MOST_USES = 10


def nltk_tnt(tagged, tags, raw):
    """TnT; NLTK leaves unknown words to another tagger, here one by shape and last letters."""
    from nltk.tag.tnt import TnT

    sentences = _pairs(tagged, tags)
    tagger = TnT(unk=ByForm(sentences), Trained=True, N=_BEAM, C=True)
    tagger.train(sentences)
    return [[tag for _, tag in tagger.tag(words)] for words in raw]


class ByForm:
    """NLTK's taggers by one to five last letters, learned from rarer words of one shape each."""

    def __init__(self, sentences):
        from nltk import AffixTagger, DefaultTagger

        seen = Counter(word for row in sentences for word, _ in row)
        rare = [pair for row in sentences for pair in row if seen[pair[0]] <= _MOST_USES]
        by_shape = {}
        for word, tag in rare:
            by_shape.setdefault(shape_of(word), []).append([(word, tag)])
        self.taggers = {}
        for shape, pairs in [(None, [[pair] for pair in rare]), *by_shape.items()]:
            usual = Counter(tag for ((_, tag),) in pairs).most_common(1)[0][0]
            self.taggers[shape] = DefaultTagger(usual)
            for length in range(1, 6):
                self.taggers[shape] = AffixTagger(
                    pairs,
                    affix_length=-length,
                    min_stem_length=0,
                    backoff=self.taggers[shape],
                )

    def tag(self, words):
        """Words with their tags, as NLTK's taggers give them."""
        taggers = [self.taggers.get(shape_of(word), self.taggers[None]) for word in words]
        return [tagger.tag([word])[0] for tagger, word in zip(taggers, words, strict=True)]


def nltk_hmm(tagged, tags, raw):
    """NLTK's supervised hidden Markov model, with Lidstone's estimates."""
    from nltk.probability import LidstoneProbDist
    from nltk.tag.hmm import HiddenMarkovModelTrainer

    sentences = _pairs(tagged, tags)
    words = {word for row in tagged for word in row} | {word for row in raw for word in row}
    states = sorted({tag for row in tags for tag in row})
    trainer = HiddenMarkovModelTrainer(states, sorted(words))
    tagger = trainer.train_supervised(
        sentences, estimator=lambda counts, bins: LidstoneProbDist(counts, 0.1, bins)
    )
    return [[tag for _, tag in tagger.tag(words)] for words in raw]


def crfsuite(tagged, tags, raw):
    """A conditional random field learned by the averaged perceptron; None where not installed."""
    try:
        from sklearn_crfsuite import CRF
    except ImportError:
        return None
    model = CRF(algorithm="ap", max_iterations=10, all_possible_transitions=False)
    model.fit([_features(words) for words in tagged], tags)
    return model.predict([_features(words) for words in raw])


def _features(words):
    """What a conditional random field sees at each token."""
    padded = ["<s>", *words, "</s>"]
    return [
        {
            "word": word,
            "before": padded[t],
            "after": padded[t + 2],
            "shape": str(shape_of(word)),
            "first": t == 0,
            **{f"suffix {len(ending)}": ending for ending in suffixes_of(word)},
            **{f"prefix {n}": word[:n].lower() for n in range(1, 4)},
        }
        for t, word in enumerate(words)
    ]


def _pairs(sentences, tags):
    return [list(zip(*both, strict=True)) for both in zip(sentences, tags, strict=True)]


PEERS = {"nltk TnT": nltk_tnt, "nltk HMM": nltk_hmm, "sklearn-crfsuite": crfsuite}
