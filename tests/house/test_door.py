"""The door: an estimator makes its options once; below no function takes an estimator.

Exceptions are those of the day the rule was made, and may only become fewer.
"""

from house_rules import calls_back, takes_an_estimator

_TAKE_AN_ESTIMATOR = {
    "certainty.confidence": """
        by_bootstrap by_information
    """,
    "certainty.draws": """
        calibrated_draws draws_of_samples training
    """,
    "certainty.residuals": """
        pseudo_residuals
    """,
    "chain.numbers.observed": """
        _training before_forecasts emitting given_again laid_out left_paths model
        of_one_kind posteriors read_to_fit reads_at reads_under settings_of steps_after
        under_final_weights
    """,
    "chain.numbers.series": """
        _categories columns_again columns_asked series_again series_to_fit
        with_common_columns
    """,
    "learning.learned": """
        learned_of
    """,
    "reading.series": """
        cautions_of_shape
    """,
    "reading.validation": """
        _of_class check_table check_table_to_fit columns_of
    """,
    "scale.numbers.parts": """
        lay_out refuse_in_shards
    """,
    "scale.numbers.stored_fits": """
        _refuse
    """,
    "settings": """
        setting_of
    """,
}
# Private names of estimators that functions below ask for, whatever their parameter is called.
_CALLED_BACK = """
_algorithm _asked_in_parts _emits_symbols _fit_reading _kept _learned _model _module_of_parts
_observation _options _posteriors _read _settings _to_fit_again _validate_params
"""
_CALLED_BACK_OTHERWISE = "_fit_reading _module_of_parts _validate_params"


def test_no_more_functions_take_an_estimator():
    known = {
        f"{module}:{name}" for module, text in _TAKE_AN_ESTIMATOR.items() for name in text.split()
    }
    found = takes_an_estimator()
    assert found.keys() - known == set(), "give it options, or what it needs of them"
    assert known - found.keys() == set(), "strike these out"


def test_no_more_private_names_are_called_back():
    known = {*_CALLED_BACK.split(), *_CALLED_BACK_OTHERWISE.split()}
    assert calls_back() - known == set()
    assert known - calls_back() == set(), "strike these out"
