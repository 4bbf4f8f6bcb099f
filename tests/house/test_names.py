"""One name, one thing: no two classes share a name, and participles are no types."""

import re

from house_rules import classes, with_several_meanings

# The central value of the design; a public class; what is a noun.
_ALLOWED = {"Learned", "ZeroInflated", "Nested", "Reading"}
_IS_PARTICIPLE = re.compile(
    r"_*[A-Z]\w*(?<=[a-z])ed|_*(?:[A-Z]\w*)?(?:Left|Out|Found|Known|Kept|Seen|Read|Drawn|Held|Sent|Taken)"
    r"|After|Every|Missing|Past|Running|Unkept|Without"
)


def test_no_two_classes_share_a_name():
    assert with_several_meanings() == {}, "say what kind it is: AlignmentTally, StorePiece"


def test_no_participle_is_a_type():
    found = {name for name in classes() if _IS_PARTICIPLE.fullmatch(name)}
    assert found - _ALLOWED - _ERRORS == set(), "name what it is, not what was done to it"


# Errors may say what has happened.
_ERRORS = {"Interrupted", "LogsNeeded", "WorkersLost"}
