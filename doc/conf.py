"""How Sphinx builds the documentation: ``python -m sphinx -W -n doc doc/_build``.

Nothing of what it builds comes from the net: formulas are drawn by files of MathJax that a package
brings, and what other projects document is listed in ``_inventories``.
"""

import ast
import re
import shutil
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import sklearn_cvb

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "extensions"))

project = "sklearn_cvb"
author = "the sklearn_cvb authors"
project_copyright = author
version = release = sklearn_cvb.__version__
metadata = tomllib.loads(HERE.with_name("pyproject.toml").read_text(encoding="utf-8"))["project"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "numpydoc",
    "front_figure",
    "front_pictures",
    "measured",
    "toy_posterior",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "tables", "published/tables"]

html_theme = "pydata_sphinx_theme"
html_title = "sklearn_cvb"
html_show_sourcelink = False
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_css_files = ["tables.css"]
html_js_files = ["search_summary.js"]
html_context = {"default_mode": "auto"}
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "logo": {"text": f"sklearn_cvb {version}", "image_light": "_static/favicon.svg"},
    "github_url": metadata["urls"]["Source"],
    "navbar_start": ["navbar-logo"],
    "navbar_center": ["navbar-nav"],
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "navbar_persistent": ["search-button"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_theme_options["logo"]["image_dark"] = html_theme_options["logo"]["image_light"]
# The front page has guides instead of a list of sections; others stand alone.
ALONE = ["index", "search", "genindex", "install", "which_class", "performance", "glossary"]
ALONE += ["contributors", "architecture", "below_the_estimators", "why_it_is_fast"]
ALONE += ["maintainers", "changes", "stability"]
# Tutorials give their code the room of a hundred letters.
html_sidebars = {page: [] for page in [*ALONE, "auto_tutorials/plot_*"]}

# Code is copied without prompts and without what it prints.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# As pictures, so that no font is fetched: a browser refuses those of another folder.
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "local"}}

# What is referred to, as the projects' own lists have it, so that no build asks the net.
_ELSEWHERE = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
    "matplotlib": "https://matplotlib.org/stable/",
    "nltk": "https://www.nltk.org/",
    "dask": "https://docs.dask.org/en/stable/",
}
intersphinx_mapping = {
    name: (url, str(HERE / "_inventories" / f"{name}.inv")) for name, url in _ELSEWHERE.items()
}

# `name` is a link where the package has it.
default_role = "autolink"

# API pages list what the modules' __all__ list.
# Types in signatures that users neither make nor name.
nitpick_ignore_regex = [
    ("py:class", r"sklearn_cvb\.(display|emissions|estimators|grammar|learning)\.\w+\.\w+"),
    ("py:class", r"sklearn_cvb\.(reading\.(corpus|moments|series)|store\.(files|on_disk))\.\w+"),
    ("py:class", r"sklearn_cvb\.store\.number_store\.StoreSurvey"),
    ("py:class", r"scipy\.sparse\._csr\.csr_array"),
    # `name` of a parameter, which has no page.
    ("py:obj", r"[a-z_]+"),
    ("py:obj", r"copy\.copy|sklearn_cvb\.chain\.paths\.lattice\.Cells"),
    # It has its page under another name.
    ("py:obj", r"sklearn_cvb\.emissions\.Symbols"),
    # What a filter is made of, which has no page: `start_filter` makes it.
    ("py:class", r"Observation"),
    # What a field may be, beside its type.
    ("py:class", r"types\.Annotated\[.*"),
]
autosummary_generate = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
numpydoc_show_class_members = False
autodoc_typehints = "signature"
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90

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
    # The axes that a last line returns are of no use to a reader, and a thumbnail's number neither.
    "capture_repr": ("_repr_html_",),
    "remove_config_comments": True,
    # Dense screens get twice the pixels.
    "image_srcset": ["2x"],
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
    "set_fit_request",
    "set_output",
    "set_params",
    "set_predict_proba_request",
    "set_predict_request",
    "set_score_request",
}
autodoc_default_options = {"exclude-members": ", ".join(sorted(FROM_SCIKIT_LEARN))}


def escape_shapes(app, what, name, obj, options, lines):
    """Keep the shape ``(n_iter_,)`` of an attribute from being read as a link to a target."""
    lines[:] = [re.sub(r"\((\w+)_,\)", r"(\1\\_,)", line) for line in lines]


# Types as their own documentation calls them.
_PUBLIC_NAMES = {
    r"numpy\._typing\._array_like\._Buffer \|.*?_NestedSequence\[complex \| bytes \| str\]": (
        "numpy.typing.ArrayLike"
    ),
    r"numpy\.random\.mtrand\.RandomState": "numpy.random.RandomState",
    r"numpy\.random\._generator\.Generator": "numpy.random.Generator",
    r"scipy\.sparse\._csr\.csr_array": "scipy.sparse.csr_array",
    r"sklearn\.utils\._bunch\.Bunch": "sklearn.utils.Bunch",
    r"(?<![.\w])ArrayLike\b": "~numpy.typing.ArrayLike",
    r"(?<![.\w])Axes\b": "~matplotlib.axes.Axes",
    r"(?<![.\w])ConfidenceIntervals\b": "~sklearn_cvb.certainty.confidence.ConfidenceIntervals",
    r"(?<![.\w])CredibleIntervals\b": "~sklearn_cvb.certainty.intervals.CredibleIntervals",
    r"(?<![.\w])Draws\b": "~sklearn_cvb.certainty.draws.Draws",
    r"(?<![.\w])Forecast\b": "~sklearn_cvb.chain.predictions.forecasting.Forecast",
    r"(?<![.\w])RowIntervals\b": "~sklearn_cvb.certainty.calibrated.RowIntervals",
    r"(?<![.\w])np\.ndarray\b": "~numpy.ndarray",
    # Decorated methods of all estimators return the one they are called on.
    r"sklearn_cvb\.learning\.online\._Estimator": "typing.Self",
}


def use_public_names(app, what, name, obj, options, signature, returns):
    """Write the types of a signature as users know them."""
    texts = [signature, returns]
    for private, public in _PUBLIC_NAMES.items():
        texts = [text and re.sub(private, public, text) for text in texts]
    return tuple(texts)


class Files(SphinxDirective):
    """``.. files:: kernels kernels/chain``: the modules of these folders, with what they are for.

    That is the first paragraph of each module's docstring.
    """

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """The list."""
        package = Path(sklearn_cvb.__file__).parent
        found = nodes.bullet_list()
        for folder in self.arguments[0].split():
            for path in sorted((package / folder).glob("*.py")):
                self.env.note_dependency(str(path))
                if path.name == "__init__.py" and folder == ".":
                    continue
                docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
                name = path.relative_to(package).as_posix().removesuffix("__init__.py")
                line = nodes.paragraph("", "", nodes.literal(text=name), nodes.Text(": "))
                purpose = " ".join(docstring.split("\n\n")[0].split())
                for i, part in enumerate(re.split("`+", purpose)):
                    line += nodes.literal(text=part) if i % 2 else nodes.Text(part)
                found += nodes.list_item("", line)
        return [found]


def copy_mathjax(app, exception):
    """Put MathJax into the site: the part that draws, and what it loads for rarer commands."""
    if exception is not None or app.builder.format != "html":
        return
    package = find_spec("sphinx-mathjax-offline")
    source = Path(package.origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "tex-svg.js", target)
    part = Path("input", "tex", "extensions")
    shutil.copytree(source / part, target / part, dirs_exist_ok=True)


def setup(app):
    """Run after numpydoc, whose own listener has the usual priority of 500."""
    # Pages of classes end in the examples that use them, where examples are built.
    app.config.autosummary_context["gallery"] = "sphinx_gallery.gen_gallery" in app.extensions
    app.connect("autodoc-process-signature", use_public_names)
    app.connect("build-finished", copy_mathjax)
    app.connect("autodoc-process-docstring", escape_shapes, priority=600)
    app.add_directive("files", Files)
