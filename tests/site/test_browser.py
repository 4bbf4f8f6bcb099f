"""The built site in a browser, from a folder: search, the picture, themes, narrow screens."""

import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

pytestmark = pytest.mark.pages

# One of each kind: prose, formulas, wide tables, signatures, pictures, code.
PAGES = [
    "index",
    "install",
    "which_class",
    "user_guide",
    "hmm",
    "taggers",
    "scores",
    "numbers",
    "durations",
    "how_many_states",
    "uncertainty",
    "coming_from_hmmlearn",
    "coming_from_r",
    "how_to/data_frames",
    "auto_tutorials/plot_3_regimes_in_a_series",
    "theory/cvb",
    "theory/leaving_out",
    "published/noise",
    "published/dmv",
    "performance",
    "api",
    "api/generated/sklearn_cvb.CVBHMMTagger",
    "api/generated/sklearn_cvb.metrics.bracket_scores",
    "glossary",
    "architecture",
    "extending",
]
# What sticks out on the right and cannot be scrolled to.
CUT_OFF = """() => [...document.querySelectorAll(".bd-article *")].filter(element => {
  const box = element.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1) return false;
  for (let outer = element.parentElement; outer; outer = outer.parentElement)
    if (getComputedStyle(outer).overflowX !== "visible") return false;
  return true;
}).map(element => element.outerHTML.slice(0, 120))"""
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"


class Visit:
    """A window of the browser that notes what goes wrong."""

    def __init__(self, browser, site, width=1280, scheme="light"):
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page = self.context.new_page()
        self.site = site
        self.errors, self.requests = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def to(self, name, query=""):
        """Go to a page, and wait until its formulas are drawn."""
        self.page.goto(f"{(self.site / name).as_uri()}.html{query}")
        self.page.wait_for_function("() => !window.MathJax || MathJax.startup?.promise")
        self.page.evaluate("() => window.MathJax ? MathJax.startup.promise.then(() => 0) : 0")
        return self.page

    def outside(self):
        """Requests that left the folder."""
        inside = ("data:", "blob:", self.site.as_uri())
        return [url for url in self.requests if not url.startswith(inside)]


@pytest.fixture
def visit(browser, site):
    opened = []

    def start(**settings):
        opened.append(Visit(browser, site, **settings))
        return opened[-1]

    yield start
    for one in opened:
        one.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_pages_are_whole(visit, width, scheme):
    """No error, nothing fetched, nothing cut off, no raw TeX, no picture missing, no empty bar."""
    window = visit(width=width, scheme=scheme)
    for name in PAGES:
        page = window.to(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(CUT_OFF) == [], name
        assert page.evaluate("[...document.images].filter(i => !i.naturalWidth).length") == 0, name
        for formula in page.query_selector_all(".math"):
            assert formula.query_selector("mjx-container svg"), (name, formula.inner_text())
        bar = page.query_selector(".bd-sidebar-primary .bd-links")
        assert bar is None or bar.query_selector("li a"), name
        assert page.query_selector("mjx-merror, [data-mjx-error]") is None, name
    assert window.errors == []
    assert window.outside() == []


def test_pages_are_dark_where_the_reader_s_are(visit):
    def brightness(scheme):
        colour = visit(scheme=scheme).to("index").evaluate(BACKGROUND)
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3])

    assert brightness("light") > 600
    assert brightness("dark") < 150


def test_there_is_one_row_of_headings(visit):
    page = visit().to("hmm")
    height = page.evaluate("document.querySelector('.bd-header').getBoundingClientRect().height")
    assert height < 100
    links = page.query_selector_all(".bd-header .navbar-nav > .nav-item > .nav-link")
    tops = {round(link.bounding_box()["y"]) for link in links if link.is_visible()}
    assert len(links) >= 4
    assert len(tops) == 1


@pytest.mark.parametrize("words", ["CVBHMMTagger", "valence"])
def test_search_finds(visit, words):
    window = visit()
    page = window.to("search", f"?q={words}")
    page.wait_for_selector("#search-results li a", timeout=60_000)
    found = [link.get_attribute("href") for link in page.query_selector_all("#search-results li a")]
    if words == "CVBHMMTagger":
        assert any("sklearn_cvb.CVBHMMTagger.html" in link for link in found[:3])
    assert len(found) >= 2
    assert window.errors == []
    assert window.outside() == []


def test_results_have_excerpts_where_the_site_is_served(browser, site):
    """From a folder, as above, they have none: a browser refuses to read other pages there."""
    handler = partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/search.html?q=forecast")
        page.wait_for_selector("#search-results p.context", timeout=60_000)
        excerpts = page.locator("#search-results p.context").all_text_contents()
        page.close()
        server.shutdown()
    assert any("forecast" in text.lower() for text in excerpts)


def test_the_picture_reacts(visit):
    """Dragging alpha moves the marks, to where the page's own numbers say."""
    window = visit()
    page = window.to("theory/leaving_out")
    slider = page.locator("#toy-posterior input")

    def state():
        marks = page.locator('#toy-posterior .track [data-algorithm="VB"]')
        places = [marks.nth(i).get_attribute("transform") for i in range(marks.count())]
        return page.locator("#toy-posterior output").inner_text(), places

    seen = {}
    for value in ("0", "40", "60"):
        slider.evaluate(
            "(box, value) => { box.value = value; box.dispatchEvent(new Event('input')) }", value
        )
        alpha, places = state()
        seen[float(alpha)] = places
        assert len(places) == 7
    assert list(seen) == [0.01, 1.0, 10.0]
    assert len({tuple(places) for places in seen.values()}) == 3
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert float(state()[0]) < 10
    errors = [
        float(x) for x in re.findall(r"off by ([\d.]+)", page.locator("#toy-legend").inner_text())
    ]
    em, vb, token, sequence = errors
    assert sequence < token < em < vb
    assert window.errors == []
