"""Uncertainty of a fit: credible and confidence intervals, posterior draws, residuals."""
