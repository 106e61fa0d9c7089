"""Do two models differ? Estimates of their difference, with intervals that fit the design of the comparison.

A design is a given test set and seeds, folds, repeated splits, or training draws. `cascadeforest.inference.intervals`
has an estimate for each, which takes arrays; `cascadeforest.inference.row_values` says what single test rows add to a
metric, and `cascadeforest.inference.rules` what estimates, on one data set or on several, decide about a claim. Nothing
here knows experiments or their results, so this serves comparisons of your own too.
"""
