"""
A cascade on your data frame
============================

We train a deep forest on a data frame with numbers, categories, strings and missing values. We look at its layers, its
cost, and at what a simpler model would give.
"""

# %%
# The data
# --------
#
# The data frame is made here, so that we know the truth. It has 3,000 customers. A customer leaves because of one of
# two reasons, and each reason needs two columns at once. One label in ten is wrong, so no model can be right for more
# than 90 % of the customers, apart from luck. Replace ``customers`` and ``outcome`` by your own data.

import pickle
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.dummy import DummyClassifier
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import cross_val_score, train_test_split

from cascadeforest import ExtraTreesClassifier, GCForestClassifier, RandomForestClassifier
from cascadeforest.plotting import plot_layers

rng = np.random.default_rng(0)
n = 3000
customers = pd.DataFrame(
    {
        "city": rng.choice(["Bonn", "Oslo", "Rome", None], n, p=[0.4, 0.3, 0.2, 0.1]),
        "plan": pd.Categorical(rng.choice(["basic", "family", "premium"], n)),
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
        "visits": rng.poisson(5, n),
        "paid": rng.gamma(2.0, 30.0, n).round(2),  # says nothing about the outcome
        "newsletter": rng.random(n) < 0.5,  # says nothing either
    }
)
leaves = (customers["plan"].eq("basic") & (customers["age"] < 50)) | (
    customers["city"].eq("Rome") & (customers["visits"] < 5)
)
outcome = np.where(leaves ^ (rng.random(n) < 0.1), "leaves", "stays")
customers.head()

# %%
# Fit
# ---
#
# There is nothing to encode or to impute. Columns of strings and of a categorical type are categorical features;
# missing values are learned from.

X_train, X_test, y_train, y_test = train_test_split(customers, outcome, stratify=outcome, random_state=0)
model = GCForestClassifier(n_forests=4, n_estimators=50, random_state=0).fit(X_train, y_train)
print("categorical:", *customers.columns[model.is_categorical_])
print("layers that were grown:", len(model.validation_scores_), "- layers that are kept:", model.n_layers_)
print("accuracy on rows that the model has not seen:", round(model.score(X_test, y_test), 3))

# %%
# The layers
# ----------
#
# A cascade grows until the accuracy of its predictions for held-out training rows stops rising, and keeps the layers
# up to the best one. The curve of the test rows is for us; the cascade did not use it.

plot_layers(model, X_test, y_test)
plt.show()

# %%
# Which customers does it get wrong? One in ten must be wrong, since one label in ten is.

ConfusionMatrixDisplay.from_estimator(model, X_test, y_test, colorbar=False)
plt.show()

# %%
# New rows
# --------
#
# A level that was not seen in training (Paris) counts as a missing value.

new = customers.head(3).copy()
new.loc[0, "city"] = "Paris"
new.assign(**dict(zip(model.classes_, model.predict_proba(new).T.round(2), strict=True)))

# %%
# Is it worth its cost?
# ---------------------
#
# We compare with single forests, and with always predicting the larger class, by cross-validation. Time is that of
# three fits with one thread. All parameters were fixed before the first run of this page.

rows = []
for name, candidate in {
    "the larger class": DummyClassifier(),
    "random forest, 200 trees": RandomForestClassifier(200, random_state=0),
    "Extra-Trees, 200 trees": ExtraTreesClassifier(200, random_state=0),
    "cascade, 2 x 20 trees": GCForestClassifier(n_forests=2, n_estimators=20, random_state=0),
    "cascade, 4 x 50 trees": GCForestClassifier(n_forests=4, n_estimators=50, random_state=0),
    "the same, out-of-bag": GCForestClassifier(n_forests=4, n_estimators=50, class_vectors="oob", random_state=0),
}.items():
    begin = perf_counter()
    scores = cross_val_score(candidate, customers, outcome, cv=3)
    rows.append((name, scores.mean().round(3), scores.std().round(3), round(perf_counter() - begin, 2)))
pd.DataFrame(rows, columns=["model", "accuracy", "std over folds", "seconds"]).set_index("model")

# %%
# Hardly: a right model of these data reaches 0.9, and the random forest is there for a small part of the time. The
# third page shows data on which a cascade gains more, and data on which it loses.

# %%
# Save
# ----
#
# A fitted model can be pickled. Load trusted files only: a pickle can run any code.

again = pickle.loads(pickle.dumps(model))
print("same predictions:", (again.predict_proba(X_test) == model.predict_proba(X_test)).all())
