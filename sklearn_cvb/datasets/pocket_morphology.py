"""English spelling of inflected and derived words, as far as the pocket English needs it."""

import re

_VOWELS = "aeiou"
# Of one syllable, or stressed on the last, unlike "visit" and "offer".
_DOUBLED = re.compile(
    "commit|admit|permit|submit|occur|refer|prefer|transfer|control|begin|forget|regret|equip|"
    "offset|program|quit|[^aeiou]*[aeiou][^aeiouwxy]"
)


def attach(stem: str, suffix: str) -> str:
    """Spell a stem with a suffix.

    Parameters
    ----------
    stem : str
        A word, or the stem of one.
    suffix : str
        Such as ``"s"``, ``"ed"``, ``"ing"``, ``"er"``, ``"ly"``, ``"ness"``, ``"ion"``.

    Returns
    -------
    word : str

    Examples
    --------
    >>> from sklearn_cvb.datasets.pocket_morphology import attach
    >>> [attach("plan", "ed"), attach("carry", "s"), attach("decide", "ion"), attach("able", "ity")]
    ['planned', 'carries', 'decision', 'ability']
    """
    special = _SPECIAL.get(suffix)
    if special is not None:
        return special(stem)
    if suffix[0] not in _VOWELS:
        return re.sub(r"(?<=[^aeiou])y$", "i", stem) + suffix
    return _before_vowel(stem, suffix) + suffix


def conjugated(forms: str) -> tuple[str, str, str, str, str]:
    """All forms of a verb from those that are given.

    Parameters
    ----------
    forms : str
        ``"walk"``, ``"buy:bought"`` or ``"speak:spoke:spoken"``: base, past, participle.

    Returns
    -------
    base, third, past, participle, gerund : str

    Examples
    --------
    >>> from sklearn_cvb.datasets.pocket_morphology import conjugated
    >>> conjugated("stop")
    ('stop', 'stops', 'stopped', 'stopped', 'stopping')
    >>> conjugated("buy:bought")
    ('buy', 'buys', 'bought', 'bought', 'buying')
    """
    base, *rest = forms.split(":")
    past = rest[0] if rest else attach(base, "ed")
    return base, attach(base, "s"), past, rest[-1] if rest else past, attach(base, "ing")


def _before_vowel(stem: str, suffix: str) -> str:
    if stem.endswith("ie") and suffix == "ing":
        return stem[:-2] + "y"
    if stem.endswith("e") and not (suffix == "ing" and stem.endswith(("ee", "oe", "ye"))):
        return stem if suffix == "able" and stem.endswith(("ce", "ge")) else stem[:-1]
    if re.search("[^aeiou]y$", stem) and suffix != "ing":
        return stem[:-1] + "i"
    if _DOUBLED.fullmatch(stem):
        return stem + stem[-1]
    return stem


def _with_s(stem: str) -> str:
    if stem.endswith(("s", "x", "z", "ch", "sh")):
        return stem + "es"
    return re.sub("(?<=[^aeiou])y$", "ie", stem) + "s"


def _with_y(stem: str) -> str:
    return _before_vowel(stem, "y") + "y"


def _with_ly(stem: str) -> str:
    for ending, replaced in (("ic", "ically"), ("ue", "uly"), ("ll", "lly"), ("ly", "lily")):
        if stem.endswith(ending):
            return stem.removesuffix(ending) + replaced
    if re.search("[^aeiou]le$", stem):
        return stem[:-1] + "y"
    return re.sub("(?<=[^aeiou])y$", "i", stem) + "ly"


def _with_ment(stem: str) -> str:
    return (stem[:-1] if stem.endswith("ue") else stem) + "ment"


def _with_ity(stem: str) -> str:
    return re.sub("(?<=[bp])le$", "il", stem).removesuffix("e") + "ity"


def _with_al(stem: str) -> str:
    if stem.endswith(("ce", "er")):
        return stem[:-1] + "ial" if stem.endswith("ce") else stem[:-2] + "ral"
    return (re.sub("y$", "i", stem)).removesuffix("e") + "al"


def _with_ion(stem: str) -> str:
    rules = (("ify", "ification"), ("ize", "ization"), ("uce", "uction"), ("mit", "mission"))
    more = (("te", "tion"), ("de", "sion"), ("nd", "nsion"), ("t", "tion"), ("e", "ion"))
    for ending, replaced in rules + more:
        if stem.endswith(ending):
            return stem.removesuffix(ending) + replaced
    return stem + "ion"


def _with_ive(stem: str) -> str:
    return _with_ion(stem).removesuffix("ion") + "ive"


_SPECIAL = {
    "s": _with_s,
    "y": _with_y,
    "ly": _with_ly,
    "ment": _with_ment,
    "ity": _with_ity,
    "al": _with_al,
    "ion": _with_ion,
    "ive": _with_ive,
}
