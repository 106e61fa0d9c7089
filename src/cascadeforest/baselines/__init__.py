"""Baselines of the papers that scikit-learn does not provide in the form that is needed, one file each."""
