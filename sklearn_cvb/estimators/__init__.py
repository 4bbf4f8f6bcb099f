"""What a user types: parameters, and which family is learned by which algorithm."""
