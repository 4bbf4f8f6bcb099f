"""How models are learned: EM, VB, CVB and sampling, each written once for all families."""
