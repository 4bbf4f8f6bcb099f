"""Where the site is, to which a notebook's view of an estimator leads."""

from sklearn_cvb.scikit_learn import BaseEstimator

# OWNER stands for the account that publishes, here as in pyproject.toml.
SITE = "https://OWNER.github.io/sklearn_cvb"


class SiteLink(BaseEstimator):
    """What has a page of the reference: scikit-learn's HTML view has a link to it."""

    _doc_link_module = "sklearn_cvb"
    _doc_link_template = f"{SITE}/api/generated/{{page}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        public = "sklearn_cvb", "emissions", "hmmlearn"
        places = [part for part in type(self).__module__.split(".") if part in public]
        return {"page": ".".join([*places, type(self).__name__])}
