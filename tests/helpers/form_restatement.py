"""Tag shares by form in plain Python, one word at a time."""

import itertools

from sklearn_cvb.chain.tags.word_forms import shape_of

STRENGTH = 4.0


def plain_shares(word, told, n_states, only=None, begins=False):
    """Shares of the states of a word of which nothing is told, as a dict."""
    votes = {}
    for other in told.voting:
        tally = told.tallies[other]
        total = sum(tally.values())
        votes[other] = {state: seen / total for state, seen in tally.items()}
    takers = {k: sum(k in vote for vote in votes.values()) for k in range(n_states)}
    states = [k for k in takers if takers[k] and takers[k] >= len(votes) / 1000]
    lower = told.tallies
    if only is not None:
        states = only
        lower = {
            other: {k: seen for k, seen in tally.items() if k in only}
            for other, tally in told.tallies.items()
        }
    lower = {other: tally for other, tally in lower.items() if tally}

    def is_told(some):
        return some != some.lower() and some.lower() in lower

    def kind(some):
        return shape_of(some), is_told(some)

    def smoothed(groups):
        found, shares = [], dict.fromkeys(states, 1 / len(states))
        for group in groups:
            counts = {k: sum(votes[other].get(k, 0) for other in group) for k in states}
            total = sum(counts.values()) + STRENGTH
            shares = {k: (counts[k] + STRENGTH * shares[k]) / total for k in states}
            found.append(shares)
        return found

    def by_form(some):
        groups = [list(votes), [other for other in votes if kind(other) == kind(some)]]
        endings = [
            [o for o in groups[1] if o.lower().endswith(some.lower()[-n:])]
            for n in range(1, min(4, len(some.lower())) + 1)
        ]
        # A word is no beginning of its own, and nothing is told by beginnings that no word has.
        beginnings = [
            [o for o in groups[1] if len(o) > n and o.lower().startswith(some.lower()[:n])]
            for n in range(1, min(3, len(some) - 1) + 1)
        ]
        _, *of_shape = smoothed([*groups, *itertools.takewhile(bool, beginnings)])
        by_ending = smoothed([*groups, *endings])[-1]
        shares = {k: by_ending[k] * (of_shape[-1][k] / of_shape[0][k]) ** 0.5 for k in states}
        total = sum(shares.values())
        return {k: share / total for k, share in shares.items()}

    begins = begins and word[:1] != word[:1].lower() and word[1:] == word.lower()[1:]
    weight = {0: 0.0, 1: 0.5, 2: 0.95}[begins + is_told(word)]
    below = by_form(word.lower())
    if is_told(word):
        known = lower[word.lower()]
        below = {k: seen / sum(known.values()) for k, seen in known.items()}
    own = by_form(word)
    both = {k: (1 - weight) * own.get(k, 0) + weight * below.get(k, 0) for k in {*own, *below}}
    return {k: share for k, share in sorted(both.items()) if share}
