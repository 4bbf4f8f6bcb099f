"""How Sphinx builds the documentation: ``sphinx-build -W doc doc/_build``."""

import ast
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

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

# Examples and tutorials are Python files, which run when the site is built.
extensions.append("sphinx_gallery.gen_gallery")
exclude_patterns += ["examples", "tutorials"]
GROUPS = [
    "tagging",
    "sequences",
    "numbers",
    "grammars",
    "dependencies",
    "alignment",
    "choosing",
    "files",
]
sphinx_gallery_conf = {
    "examples_dirs": ["examples", "tutorials"],
    "gallery_dirs": ["auto_examples", "auto_tutorials"],
    "subsection_order": [f"examples/{group}" for group in GROUPS],
    "within_subsection_order": "FileNameSortKey",
    # `.. minigallery:: sklearn_cvb.CVBHMM` lists the examples that use it.
    "backreferences_dir": "api/backreferences",
    "doc_module": ("sklearn_cvb",),
    "reference_url": {"sklearn_cvb": None},
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

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


class Files(SphinxDirective):
    """``.. files:: kernels/chain``: the modules of a folder of the package, with what they are for.

    That is the first paragraph of each module's docstring.
    """

    required_arguments = 1

    def run(self):
        """The list."""
        package = Path(sklearn_cvb.__file__).parent
        found = nodes.bullet_list()
        for path in sorted((package / self.arguments[0]).glob("*.py")):
            self.env.note_dependency(str(path))
            if path.name == "__init__.py":
                continue
            docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
            purpose = " ".join(docstring.split("\n\n")[0].split())
            line = nodes.paragraph("", "", nodes.literal(text=path.name), nodes.Text(": "))
            for i, part in enumerate(re.split("`+", purpose)):
                line += nodes.literal(text=part) if i % 2 else nodes.Text(part)
            found += nodes.list_item("", line)
        return [found]


def setup(app):
    """Run after numpydoc, whose own listener has the usual priority of 500."""
    app.connect("autodoc-process-docstring", escape_shapes, priority=600)
    app.add_directive("files", Files)
