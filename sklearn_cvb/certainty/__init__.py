"""How sure a fit is: intervals, draws from the posterior, refits and residuals. Above the line."""
