"""Predictions of a fitted chain: paths, probabilities, forecasts and samples."""
