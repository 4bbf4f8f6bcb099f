"""The HTML view of an estimator, of settings and of emissions leads to its page of the site."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

from sklearn_cvb import CVBHMM
from sklearn_cvb.website import SITE

ROOT = Path(__file__).resolve().parents[2]
# What two modules list has its page under the first.
PAGES = {
    kind: f"{module}.{name}"
    for module in ("sklearn_cvb.hmmlearn", "sklearn_cvb.emissions", "sklearn_cvb")
    for name in import_module(module).__all__
    if isinstance(kind := getattr(import_module(module), name), type)
    and issubclass(kind, BaseEstimator)
}


@pytest.mark.parametrize("kind", PAGES, ids=lambda kind: kind.__name__)
def test_the_link_is_that_of_the_class_s_page(kind):
    assert kind.__new__(kind)._get_doc_link() == f"{SITE}/api/generated/{PAGES[kind]}.html"


def test_estimators_settings_and_emissions_have_one():
    pages = {"CVBHMM", "HMMClassifier", "HMMMixture", "Transitions", "emissions.Gaussian"}
    assert {f"sklearn_cvb.{page}" for page in pages} <= {*PAGES.values()}


def test_the_view_has_it():
    assert f'href="{SITE}/api/generated/sklearn_cvb.CVBHMM.html"' in CVBHMM(2)._repr_html_()


def test_a_user_s_own_estimator_has_none():
    class Own(CVBHMM):
        """Of another module."""

    assert Own(2)._get_doc_link() == ""


def test_the_site_is_that_of_the_metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Documentation"] == SITE
    source = project["urls"]["Source"]
    account = source.split("/")[3]
    for name in ("README.md", "doc/index.rst", "doc/release/recipe.yaml", "CITATION.cff"):
        text = (ROOT / name).read_text("utf-8")
        addresses = re.findall(rf"https://[\w./-]*{account}[\w./-]*", text)
        assert addresses, name
        assert all(address.startswith((SITE, source)) for address in addresses), name
