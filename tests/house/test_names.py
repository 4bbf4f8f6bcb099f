"""One name, one thing: no two classes share a name, and participles are no types.

Exceptions are those of the day the rule was made, and may only become fewer.
"""

import re

from house_rules import classes, with_several_meanings

# Names, and how many classes have each.
_SEVERAL = """
Algorithm:2 Alignments:2 Batch:3 Borders:2 Chain:2 Chart:2 Concentrations:3 Drawing:2 Drawn:2
Draws:4 Factors:2 Grammar:2 Kept:3 LaidOut:3 Layout:2 Learned:2 Lexicon:4 Pairs:2 PartLayout:2
Piece:2 Point:7 Posterior:4 Prior:2 Reading:2 Row:2 Rule:2 Rules:4 Sentences:2 Sequences:2
Shares:4 Spans:2 Start:2 Steps:3 Stepwise:2 Stretches:2 StudentScores:2 Sums:4 Survey:2 Tables:4
Tally:5 Text:2 Trees:4 Units:2 Walk:2 Weights:3 Words:3 Workspace:4 _Place:2
"""
# Participles, and words like them, that are names of types. Values have these names, too, in
# hundreds of places: "what a fit left" is a value, `FitOutcome` is what kind it is of.
_PARTICIPLES = """
Checked Drawn Encoded Expected Filtered Fitted Fixed Found Held Inferred Kept Known LaidOut
LeavingOut Left LeftOut Listed Logged Missing Overruled Packed Published Ranked Read Running
Sampled Saved Scored Seen Sent Settled Sharded Shared Stated Stored TagsRead Taken Traced Unkept
Without WordsRead
"""
# The central value of the design; a public class; what is a noun.
_ALLOWED = {"Learned", "ZeroInflated", "Nested", "HeldOut", "Reading"}
_IS_PARTICIPLE = re.compile(
    r"_*[A-Z]\w*(?<=[a-z])ed|_*(?:[A-Z]\w*)?(?:Left|Out|Found|Known|Kept|Seen|Read|Drawn|Held|Sent|Taken)"
    r"|After|Every|Missing|Past|Running|Unkept|Without"
)


def test_no_two_classes_share_a_name():
    known = {name: int(n) for name, n in (pair.split(":") for pair in _SEVERAL.split())}
    found = {name: len(where) for name, where in with_several_meanings().items()}
    more = {name: n for name, n in found.items() if n > known.get(name, 1)}
    assert more == {}, "say what kind it is: AlignmentTally, StorePiece"
    fewer = {name: n for name, n in known.items() if found.get(name, 1) < n}
    assert fewer == {}, "strike these out, or lower them"


def test_no_participle_is_a_type():
    found = {name for name in classes() if _IS_PARTICIPLE.fullmatch(name)}
    found = {name for name in found if name[0] != "_"} - _ALLOWED - _ERRORS
    known = set(_PARTICIPLES.split())
    assert found - known == set(), "name what it is, not what was done to it"
    assert known - found == set(), "strike these out"


# Errors may say what has happened.
_ERRORS = {"Interrupted", "LogsNeeded", "WorkersLost"}
