"""From cells and the papers' printed numbers to one tidy frame per experiment, and statistics on it."""
