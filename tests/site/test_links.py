"""Links of the built site: inside none is broken, and nothing is fetched from elsewhere."""

import re
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.pages

# Elsewhere, readers may be sent to these alone: other projects' documentation, papers and data.
ELSEWHERE = {
    "docs.dask.org",
    "docs.python.org",
    "github.com",
    "docs.scipy.org",
    "matplotlib.org",
    "numpy.org",
    "pydata-sphinx-theme.readthedocs.io",
    "scikit-learn.org",
    "skops.readthedocs.io",
    "sphinx-gallery.github.io",
    "www.nltk.org",
    "www.sphinx-doc.org",
}
# Of these no page is ours: the package's own code, and what the theme brings.
OTHERS = {"_modules", "_static"}


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


@cache
def anchors_of(path):
    return {unescape(name) for name in re.findall(r'\b(?:id|name)="([^"]+)"', text_of(path))}


def pages(site):
    found = sorted(site.rglob("*.html"))
    assert len(found) > 100
    return [page for page in found if not OTHERS & set(page.relative_to(site).parts)]


def links_of(page):
    """All that a page refers to, links to follow and files to load."""
    text = re.sub(r"(?s)<script\b[^>]*>.*?</script>", "", text_of(page))
    return {unescape(link) for link in re.findall(r'\b(?:href|src)="([^"]*)"', text)}


def broken(page, link):
    """What is wrong with a link inside the site; empty if nothing is."""
    parts = urlsplit(link)
    if parts.path.startswith("/"):
        return "begins at the root of a server"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        return "is a folder, which no file:// shows"
    if not target.is_file():
        return "leads to no file"
    fragment = unquote(parts.fragment)
    if fragment and target.suffix == ".html" and fragment not in anchors_of(target):
        return "names no place on that page"
    return ""


def test_no_link_inside_is_broken(site):
    wrong = [
        f"{page.relative_to(site)}: {link} {broken(page, link)}"
        for page in pages(site)
        for link in sorted(links_of(page))
        if not urlsplit(link).scheme and not link.startswith("//") and broken(page, link)
    ]
    assert wrong == []


def test_links_to_elsewhere_lead_to_known_places(site):
    hosts = {}
    for page in pages(site):
        for link in links_of(page):
            parts = urlsplit(link)
            if parts.scheme in {"http", "https"} or link.startswith("//"):
                hosts.setdefault(parts.hostname, f"{page.relative_to(site)}: {link}")
    unknown = {host: example for host, example in hosts.items() if host not in ELSEWHERE}
    assert unknown == {}


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(
        r'<(?:script|img|iframe|source|video)\b[^>]*\bsrc="(?:https?:)?//[^"]*"'
        r'|<link\b(?=[^>]*\brel="(?:stylesheet|preload|preconnect|icon|shortcut icon)")[^>]*'
        r'\bhref="(?:https?:)?//[^"]*"'
    )
    found = {str(page): loads.findall(text_of(page)) for page in pages(site)}
    assert {page: some for page, some in found.items() if some} == {}
    for sheet in sorted(site.rglob("*.css")):
        fetched = re.findall(r"(?:url\(|@import\s)\s*[\"']?(?:https?:)?//[^)\"']*", text_of(sheet))
        assert fetched == [], sheet


def test_what_other_sites_link_to_is_listed(site):
    assert (site / "objects.inv").stat().st_size > 1000
    assert Path(site / "404.html").is_file()
