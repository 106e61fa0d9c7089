"""Modules of the public names.

The package imports them at first use: scikit-learn takes about a second, and the commands of the workflow import this
package for far less.
"""

HOME = {
    "CascadeForestRegressor": "cascadeforest.cascade.regression",
    "CompletelyRandomForestClassifier": "cascadeforest.forest.estimators",
    "CompletelyRandomForestRegressor": "cascadeforest.forest.estimators",
    "DDBFClassifier": "cascadeforest.cascade.hard_examples",
    "EnrichedRandomForestClassifier": "cascadeforest.forest.estimators",
    "Explainer": "cascadeforest.explanations.explainer",
    "Explanation": "cascadeforest.explanations.explainer",
    "ExtraTreesClassifier": "cascadeforest.forest.estimators",
    "ExtraTreesRegressor": "cascadeforest.forest.estimators",
    "GCForestCSClassifier": "cascadeforest.cascade.screening",
    "GCForestClassifier": "cascadeforest.cascade.gcforest",
    "HardExampleClassifier": "cascadeforest.cascade.on_hard_examples",
    "HiDFClassifier": "cascadeforest.cascade.interactions",
    "MDDFClassifier": "cascadeforest.cascade.margin",
    "MultiGrainedScanner": "cascadeforest.cascade.scanning",
    "RandomForestClassifier": "cascadeforest.forest.estimators",
    "RandomForestRegressor": "cascadeforest.forest.estimators",
    "explain": "cascadeforest.explanations.explainer",
    "load": "cascadeforest.saving",
    "save": "cascadeforest.saving",
}
