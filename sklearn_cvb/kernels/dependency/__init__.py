"""Inference of projective dependency trees: one chart of split heads, whatever the algorithm."""
