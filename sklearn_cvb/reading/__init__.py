"""X and y of users become arrays: tokens, series, trees, dictionaries."""
