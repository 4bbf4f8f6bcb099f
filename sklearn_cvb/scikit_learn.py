"""What we inherit from scikit-learn, to which `scikit_learn.pyi` gives the types that it lacks."""

# ruff: noqa: F401
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.base import _fit_context as fit_context
from sklearn.utils import Bunch
