"""Forests on one kernel: bins, splits, growing, flat trees, estimators."""
