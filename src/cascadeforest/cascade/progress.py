"""Messages of a growing cascade: lines through `logging`, and an optional progress bar."""

from __future__ import annotations

import logging
from types import TracebackType

logger = logging.getLogger("cascadeforest")


class Progress:
    """Messages of one fit.

    Parameters
    ----------
    verbose : int
        0: no messages; 1: one line per layer; 2: also a progress bar over the models of each layer (needs tqdm).
    """

    def __init__(self, verbose: int = 0):
        self.verbose = int(verbose)
        self._bar = None
        if self.verbose:
            _show_lines()

    def say(self, message: str, *values: object) -> None:
        """Log a line."""
        if self.verbose:
            logger.info(message, *values)

    def layer(self, level: int, n_models: int) -> Progress:
        """Begin a layer of `n_models` models; use as a context manager."""
        if self.verbose > 1:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self.say("The progress bar needs tqdm: pip install tqdm.")
                self.verbose = 1
            else:
                self._bar = tqdm(total=n_models, desc=f"layer {level + 1}", unit="forest", leave=False)
        return self

    def advance(self) -> None:
        """Count one more fitted model."""
        if self._bar is not None:
            self._bar.update()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _show_lines() -> None:
    """Make log lines visible if the user asked for them but did not configure logging."""
    if logger.level == logging.NOTSET or logger.level > logging.INFO:
        logger.setLevel(logging.INFO)
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
