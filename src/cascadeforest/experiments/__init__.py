"""From a row of the configuration to one measured, reproducible result (a *cell*), and its tracking in MLflow.

Nothing is imported here: ``python -m cascadeforest.experiments`` must set the thread variables before numpy loads.
"""
