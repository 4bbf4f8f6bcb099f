"""Methods of hidden Markov models: to and from JSON, from known parameters; others' names."""

from typing import Any, Self

from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.faces.translations import ATTRIBUTES, OTHERS, ForeignAttribute
from sklearn_cvb.settings import HMMParameters


class JSONFace(BaseHMM):
    """Writes a model as JSON, and says what others' attributes are here."""

    decode, covars_, lambdas_, monitor_ = map(ForeignAttribute, ATTRIBUTES)
    forecast, n_states, lower_bound_ = map(ForeignAttribute, OTHERS)

    def to_json(self) -> str:
        """What was learned as text: all parameters (posterior means) by name, in every digit.

        It needs neither this package nor its version to be read: tables are lists of rows, symbols
        in the order of "vocabulary", a tagger's states in that of "tags". `EMHMM.from_json` makes a
        model of it that scores as this one, and predicts under the means (of numbers with a
        posterior it scores under these, too); it takes the same frames, and refuses others.

        Returns
        -------
        str
            JSON with "format", "version", "emission", "transitions", "parameters", which has the
            fields of `HMMParameters`, and "n_free_parameters", the d of `aic`. Of columns
            "n_columns"; "columns", their names, or null; "categories", which maps columns of text,
            by name or number, to the labels of the codes 0, 1, ...; and "rows_are_sequences", true
            where a 2-D table was fitted, whose columns are steps.

        Raises
        ------
        TypeError
            If symbols, labels or names are neither text nor numbers.

        Examples
        --------
        >>> from sklearn_cvb import CVBHMM, EMHMM
        >>> X = [["a", "b", "a", "b"], ["b", "a", "b"], ["a", "b", "a"]]
        >>> model = CVBHMM(2, random_state=0).fit(X)
        >>> again = EMHMM.from_json(model.to_json())
        >>> bool(abs(again.score(X) - model.score(X)) < 1e-12)
        True
        """
        from sklearn_cvb.faces.json_text import text_of

        learned_of(self)
        return text_of(self)


class KnownParameters(BaseHMM):
    """Makes a model of known parameters, or of JSON."""

    @classmethod
    def from_parameters(
        cls,
        parameters: HMMParameters | None = None,
        *,
        emission: Any = "categorical",
        transitions: Any = "full",
        **tables: Any,
    ) -> Self:
        """A fitted model that has these parameters, without a fit.

        It predicts, scores, samples and plots; what only a fit tells, such as `history_`, it lacks.
        `init` holds the parameters: a later `fit` starts from them.

        Parameters
        ----------
        parameters : HMMParameters or None, default=None
            All probabilities, and for numbers all that states emit. Symbols are 0, 1, ... without
            `vocabulary`. Names of columns are those of `Columns` that names all of its own, those
            of tables that are frames, or `feature_names_in`; columns of text have the labels of
            `categories`. Later frames must have these names in this order.
        emission, transitions
            As of the class.
        **tables : dict
            Fields of `HMMParameters` in their place.

        Returns
        -------
        EMHMM

        Examples
        --------
        >>> from sklearn_cvb import EMHMM
        >>> casino = EMHMM.from_parameters(
        ...     startprob=[0.5, 0.5],
        ...     transmat=[[0.95, 0.05], [0.1, 0.9]],
        ...     emissionprob=[[1 / 6] * 6, [0.1] * 5 + [0.5]],
        ... )
        >>> casino.predict([[5, 5, 5, 5, 5, 5, 1, 5]])[0].tolist()
        [1, 1, 1, 1, 1, 1, 1, 1]
        >>> from sklearn_cvb.emissions import Categorical, Columns, Gaussian
        >>> game = EMHMM.from_parameters(
        ...     startprob=[0.5, 0.5],
        ...     transmat=[[0.95, 0.05], [0.1, 0.9]],
        ...     emission=Columns([(Gaussian("diag"), ["stake"]), (Categorical(), ["won"])]),
        ...     parts=[
        ...         {"means": [[1.0], [5.0]], "covariances": [[1.0], [1.0]]},
        ...         {"category_probabilities": [[[0.6, 0.4], [0.2, 0.8]]]},
        ...     ],
        ...     categories={"won": ["no", "yes"]},
        ... )
        >>> filtering = game.start_filter()
        >>> int(filtering.update({"won": "yes", "stake": 6.0}).argmax())
        1
        """
        return cls._made(parameters, emission, transitions, None, **tables)

    @classmethod
    def _made(
        cls: Any, parameters: Any, emission: Any, transitions: Any, table: Any, **tables: Any
    ) -> Any:
        """`from_parameters`, of a model whose sequences are rows of a table where there is one."""
        from sklearn_cvb.faces.known_parameters import outcome_of_parameters, parameters_of

        if "tag_dictionary" in cls._fields:
            raise TypeError(f"{cls.__name__} knows legal tags from a dictionary: use fit")
        given, n_components = parameters_of(parameters, tables, emission)
        model = cls(n_components, emission=emission, transitions=transitions, init=given)
        model._set_fitted(*outcome_of_parameters(model, table))
        return model

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The model that `to_json` of any hidden Markov model has written.

        Parameters
        ----------
        text : str
            Of a tagger, states are the numbers of its tags, and the forms of unknown words tell
            nothing.

        Returns
        -------
        EMHMM
            As `from_parameters` makes it.

        Raises
        ------
        ValueError
            If `to_json` has not written the text.
        """
        from sklearn_cvb.faces.json_text import arguments_of

        *arguments, told = arguments_of(text)
        model = cls._made(*arguments)
        model._learned = model._learned._replace(n_free_parameters=told)
        return model
