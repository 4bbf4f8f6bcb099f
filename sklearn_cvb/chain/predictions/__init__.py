"""What a fitted chain says of sequences: paths, probabilities, forecasts, drawn ones."""
