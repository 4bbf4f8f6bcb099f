"""Tag shares by form in plain Python, one word at a time."""

from sklearn_cvb.word_forms import shape_of, suffixes_of

STRENGTH = 4.0


def plain_shares(word, told, n_states, only=None):
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

    def kind(some):
        return shape_of(some), some != some.lower() and some.lower() in lower

    groups = [list(votes), [other for other in votes if kind(other) == kind(word)]]
    for ending in suffixes_of(word):
        groups.append([o for o in groups[1] if o.lower().endswith(ending)])
    shares = dict.fromkeys(states, 1 / len(states))
    for group in groups:
        counts = {k: sum(votes[other].get(k, 0) for other in group) for k in states}
        total = sum(counts.values()) + STRENGTH
        shares = {k: (counts[k] + STRENGTH * shares[k]) / total for k in states}
    if not kind(word)[1]:
        return shares
    known = lower[word.lower()]
    total = sum(known.values())
    both = {k: shares.get(k, 0) / 2 + known.get(k, 0) / total / 2 for k in {*shares, *known}}
    return dict(sorted(both.items()))
