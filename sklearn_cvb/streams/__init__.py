"""`partial_fit`, batch after batch, and stepwise EM, a few units at a time. Above the line."""
