"""
Explaining it
=============

Why does a deep forest predict what it predicts? A prediction is the sum of a bias and one contribution for each column
of the data frame, through all layers. We check this on data whose truth we know, then look at real data.
"""

# %%
# Made data: what should an explanation say?
# ------------------------------------------
#
# The data are those of the first page. Whether a customer leaves depends on plan and age together, and on city and
# visits together. ``paid`` and ``newsletter`` have nothing to do with it.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from cascadeforest import Explainer, GCForestClassifier, HiDFClassifier
from cascadeforest.plotting import plot_beeswarm, plot_dependence, plot_importances, plot_waterfall

rng = np.random.default_rng(0)
n = 3000
customers = pd.DataFrame(
    {
        "city": rng.choice(["Bonn", "Oslo", "Rome", None], n, p=[0.4, 0.3, 0.2, 0.1]),
        "plan": pd.Categorical(rng.choice(["basic", "family", "premium"], n)),
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
        "visits": rng.poisson(5, n),
        "paid": rng.gamma(2.0, 30.0, n).round(2),
        "newsletter": rng.random(n) < 0.5,
    }
)
leaves = (customers["plan"].eq("basic") & (customers["age"] < 50)) | (
    customers["city"].eq("Rome") & (customers["visits"] < 5)
)
outcome = np.where(leaves ^ (rng.random(n) < 0.1), "leaves", "stays")
X_train, X_test, y_train, y_test = train_test_split(customers, outcome, stratify=outcome, random_state=0)
model = GCForestClassifier(n_forests=4, n_estimators=50, random_state=0).fit(X_train, y_train)
explainer = Explainer(model)
explanation = explainer.explain(X_test)

# %%
# One prediction
# --------------
#
# We take a customer who, by the rule, leaves because of plan and age: these two columns should contribute most.

wanted = X_test["plan"].eq("basic") & (X_test["age"] < 30) & X_test["city"].eq("Oslo")
row = int(np.flatnonzero(wanted)[0])
print(explanation.text(row, "leaves"))

# %%
plot_waterfall(explanation, row, "leaves")
plt.show()

# %%
# The sum is the prediction, for every row and class.

total = explanation.bias + explanation.contributions.sum(axis=1)
print("largest difference:", np.abs(total - model.predict_proba(X_test)).max())

# %%
# Importances
# -----------
#
# Importances of the whole cascade come from training rows, each explained by models that did not learn from it.
# Columns that only fit noise get an importance near 0, or below it. Impurity importances on in-bag rows, the usual
# ones of random forests, do not have this property: they reward columns with many values.

importances = pd.DataFrame(
    {"held-out rows": explainer.importances(), "in-bag rows": explainer.importances("in_bag")}, index=customers.columns
)
importances.round(4)

# %%
# Interactions
# ------------
#
# A contribution shares the effect of two columns among them; it does not say that they act together.
# ``HiDFClassifier`` lists conditions that occur together in many trees. ``keep="last"`` keeps them even if they do not
# raise its score.

hidf = HiDFClassifier(n_estimators=50, max_layers=1, keep="last", random_state=0).fit(X_train, y_train)
print(hidf.interactions_.to_text())

# %%
# With its defaults it finds none: each reason to leave holds for less than a fifth of the customers, and such
# interactions are rarely found (:doc:`/docs/interactions` has the measurements). Shallower intersections find
# conditions of customers who stay. They show which columns go together only in part.

hidf.set_params(intersection_depth=3).fit(X_train, y_train)
print(hidf.interactions_.to_text())

# %%
# Real data
# ---------
#
# 569 tumours, described by 30 measurements of cell nuclei (inside scikit-learn). Each point of the beeswarm is a test
# row; its place is the contribution, its colour is the value of the column.

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = GCForestClassifier(n_forests=4, n_estimators=50, random_state=0).fit(X_train, y_train)
print("accuracy:", round(model.score(X_test, y_test), 3))
explainer = Explainer(model)
explanation = explainer.explain(X_test)
plot_beeswarm(explanation, "malignant", n_features=10)
plt.show()

# %%
plot_importances(explainer.importances(), list(X), n_features=10, label="importance on held-out rows")
plt.show()

# %%
plot_dependence(explanation, "worst perimeter", "malignant")
plt.show()

# %%
# What this does not say
# ----------------------
#
# - A contribution is no cause: it does not say what would happen if the value of a column were changed.
# - Columns with the same information share their contribution. Here radius, perimeter and area are nearly the same
#   measurement, so each of them gets a part.
# - An explanation is of the model, not of the world. If the model is wrong, the explanation says why it is wrong.
