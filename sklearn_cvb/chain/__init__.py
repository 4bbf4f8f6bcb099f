"""Hidden Markov models: options, layouts, parameters, starts, inference and predictions."""
