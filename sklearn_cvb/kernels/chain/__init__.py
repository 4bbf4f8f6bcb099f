"""Inference for chains of hidden states."""
