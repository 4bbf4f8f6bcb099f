"""Functions that a model, or a part of it, must have to be learned: checked before a fit."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.model import ModelT


class Requirement(NamedTuple):
    """Functions that are asked of a model, or of what it is made of, such as "an emission"."""

    role: str
    owner: object
    functions: Sequence[str]


@runtime_checkable
class CompoundModel(Protocol):
    """A model some of whose functions call those of its parts."""

    def required_of_parts(self, functions: Sequence[str]) -> Iterable[Requirement]:
        """What these functions of the model, and a fit by them, ask of its parts."""


def functions_of(protocol: type) -> list[str]:
    """The functions of a protocol, those of its bases first."""
    bases = reversed(protocol.__mro__)
    return [name for base in bases for name in vars(base) if not name.startswith("_")]


def check_requirements(algorithm: Algorithm[ModelT], model: ModelT) -> None:
    """Raise NotImplementedError where a model, or a part of it, lacks what is required."""
    asked = [name for name in functions_of(algorithm.requires) if name not in algorithm.optional]
    required = [Requirement("a model", model, asked)]
    if isinstance(model, CompoundModel):
        required += model.required_of_parts(asked)
    refuse_lacking(type(algorithm).__name__, required)


def refuse_lacking(who: str, required: Iterable[Requirement]) -> None:
    """Raise NotImplementedError where somebody lacks what `who` requires."""
    for role, owner, functions in required:
        missing = [name for name in functions if _lacks(owner, name)]
        if missing:
            raise NotImplementedError(
                f"{who} needs {', '.join(missing)} of {role}, which {type(owner).__name__} "
                "does not have"
            )


def _lacks(owner: object, name: str) -> bool:
    """Whether nobody has written a function: it is missing, or a protocol's own, without a body."""
    definer = next((base for base in type(owner).__mro__ if name in vars(base)), None)
    return not hasattr(owner, name) if definer is None else bool(vars(definer).get("_is_protocol"))
