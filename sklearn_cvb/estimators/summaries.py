"""`summary()` of estimators, and the page that a notebook shows below their diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.exceptions import NotFittedError

from sklearn_cvb.scikit_learn import BaseEstimator

if TYPE_CHECKING:
    from sklearn_cvb.display.model_summary import ModelSummary


class Summaries(BaseEstimator):
    """What shows what a fit has left."""

    def summary(self) -> ModelSummary:
        """What the fit has learned, to look at: ``print`` shows it on a terminal.

        Returns
        -------
        ModelSummary

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        """
        # A fit needs none of it.
        from sklearn_cvb.display.model_summary import ModelSummary

        return ModelSummary(self)

    def _html_repr(self) -> str:
        """scikit-learn's diagram; of a fitted model also what it has learned."""
        diagram: str = super()._html_repr()
        try:
            return diagram + self.summary()._repr_html_()
        except NotFittedError:
            return diagram
