"""What is known of words and their tags."""
