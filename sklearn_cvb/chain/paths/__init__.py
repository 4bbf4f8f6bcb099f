"""Which paths there are: states of each token, steps between them, and what is known."""
