"""Starting points of fits: drawn, given, or many states merged to fewer."""
