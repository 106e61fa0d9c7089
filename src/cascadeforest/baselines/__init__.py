"""The models that the papers compare with, one file each where scikit-learn's own class does not do as it is."""
