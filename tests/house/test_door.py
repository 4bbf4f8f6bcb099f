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
        of_one_kind posteriors read_again read_to_fit read_under reads_at reads_under
        settings_of steps_after under_final_weights
    """,
    "chain.numbers.series": """
        _categories columns_again columns_asked series_again series_to_fit
        with_common_columns
    """,
    "chain.parameters.rows": """
        prior_settings
    """,
    "chain.parameters.user_tables": """
        _refuse _table _with_steps _with_words columns_told fixed_rows known_parameters
        with_given
    """,
    "chain.paths.transitions": """
        _as_columns _check_contexts _check_durations check_transitions
    """,
    "chain.symbols.observed": """
        arranged_states attributes_of_words chain_settings fixed_start lattice_of
        left_out_by left_paths model posteriors read_again read_to_fit read_under reads_at
        reads_under refuse_token_updates steps_after to_fit_again training_lattice
        usual_start with_unknown words_and_cells words_read
    """,
    "chain.tags.knowledge": """
        attributes_of lattice_of read_tags settings_of tags_of_path training_lattice
        with_unknown
    """,
    "learning.learned": """
        learned_of
    """,
    "reading.corpus": """
        _cautions_of_column checked encoded_again encoded_by is_of_order
        refuse_other_columns sequences_again sequences_to_fit some_types types_to_learn
    """,
    "reading.series": """
        cautions_of_shape
    """,
    "reading.validation": """
        _of_class check_table check_table_to_fit columns_of
    """,
    "scale.numbers.parts": """
        NumbersInParts.left_paths lay_out refuse_in_shards
    """,
    "scale.numbers.stored_fits": """
        StoredProblem.left_paths _refuse log_likelihoods_of_store read_in_bulk
        states_of_store
    """,
    "scale.symbols.parts": """
        ChainInParts.left_paths refuse_in_shards
    """,
    "scale.symbols.stored_fits": """
        ChainInPieces.left_paths _refuse read_in_bulk
    """,
    "scale.symbols.stored_sequences": """
        Encoder.__init__ accuracy_on_store log_likelihoods_of_store states_of_store
    """,
    "scale.symbols.vocabulary_pass": """
        lay_out parameters_of
    """,
    "settings": """
        asked_of known_words setting_of
    """,
}
# Private names of estimators that functions below ask for, whatever their parameter is called.
_CALLED_BACK = """
_algorithm _arranged_states _attributes_of_words _chain_settings _check_parameters _fit_reading
_fixed_start _kept _lattice_of _learned _log_likelihoods _model _module_of_parts _no_posterior
_observed _posteriors _read _settings _starts_when_clean _training_lattice _unknown_words
_validate_params _why_all_steps _why_no_weights _with_unknown _words_read
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
