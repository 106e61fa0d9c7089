"""Protocols in words. Fits do not import this module, so a change of words makes no result stale."""


def protocol_text(protocol: dict, task: str = "classification") -> str:
    """Describe a protocol in a few words, for tables.

    Parameters
    ----------
    protocol : dict
        The `protocol` of a data set file.
    task : {'classification', 'regression'}
        Task; folds are stratified only in classification.

    Returns
    -------
    str
        Description without a full stop.

    Examples
    --------
    >>> protocol_text({"kind": "cv", "folds": 5, "seed": 42})
    '5-fold stratified cross-validation, seed 42'
    """
    kind = protocol["kind"]
    if kind == "given":
        return f"given training and test set, {protocol['repeats']} model seeds"
    if kind == "cv":
        word = "stratified " if task == "classification" else ""
        return f"{protocol['folds']}-fold {word}cross-validation, seed {protocol['seed']}"
    sizes = [
        f"{_size_text(protocol[key])} {word}"
        for key, word in (("train_size", "training"), ("validation_size", "validation"), ("test_size", "test"))
        if key in protocol
    ]
    seed, repeats = protocol["seed"], protocol["repeats"]
    drawn = {
        "per_repeat": f"drawn anew in each of {repeats} repeats",
        "per_split": f"{protocol.get('splits')} splits, {repeats} repeats in all",
    }.get(seed, f"one split (seed {seed}), {repeats} model seeds")
    rest = "training" if "train_size" not in protocol else "test" if "test_size" not in protocol else "unused"
    stratified = "" if task == "regression" else "stratified, " if protocol.get("stratify") else "not stratified, "
    return f"{', '.join(sizes)}, rest {rest}, {stratified}{drawn}"


def _size_text(size: float) -> str:
    return f"{100 * size:g} %" if isinstance(size, float) else f"{size:,} rows"
