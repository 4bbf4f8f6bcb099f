"""Where a fit starts."""
