"""How Sphinx builds the documentation: ``sphinx-build -W doc doc/_build``."""

import re

import sklearn_cvb

project = "sklearn_cvb"
author = "the sklearn_cvb authors"
version = release = sklearn_cvb.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "performance", "published/*_table.rst"]

html_theme = "pydata_sphinx_theme"
html_title = "sklearn_cvb"
html_show_sourcelink = False

# API pages list what the modules' __all__ list.
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
numpydoc_show_class_members = False
autodoc_typehints = "none"

# Inherited from scikit-learn, whose documentation explains them.
FROM_SCIKIT_LEARN = {
    "fit_transform",
    "get_feature_names_out",
    "get_metadata_routing",
    "get_params",
    "set_callbacks",
    "set_output",
    "set_params",
    "set_predict_request",
    "set_score_request",
}
autodoc_default_options = {"exclude-members": ", ".join(sorted(FROM_SCIKIT_LEARN))}


def escape_shapes(app, what, name, obj, options, lines):
    """Keep the shape ``(n_iter_,)`` of an attribute from being read as a link to a target."""
    lines[:] = [re.sub(r"\((\w+)_,\)", r"(\1\\_,)", line) for line in lines]


def setup(app):
    """Run after numpydoc, whose own listener has the usual priority of 500."""
    app.connect("autodoc-process-docstring", escape_shapes, priority=600)
