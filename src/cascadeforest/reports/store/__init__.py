"""Reports that are kept in the repository: accept them, compare new results with them, draw them again."""
