"""Hidden Markov models of numbers: the chain under any family of `sklearn_cvb.emissions`."""
