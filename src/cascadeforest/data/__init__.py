"""Data sets: registry, download, parsing, variants, splits. No import here: the command line sets threads first."""
