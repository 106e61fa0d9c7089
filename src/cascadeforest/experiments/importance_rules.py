"""The extras that save importances of features, as one table (`cascadeforest.experiments.extras.importances`)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal


@dataclass(frozen=True)
class Rule:
    """How an importance is computed, and of which models.

    Parameters
    ----------
    model : {"forest", "cascade"}
        What it is about: a forest that stands alone, or a cascade of forests.
    way : {"fit", "contributions", "permutations"}
        MDI as the fit computed it, MDI by contributions of the training rows, or MDA: the mean decrease of accuracy
        (regression: increase of the RMSE) when a feature of held-out rows is permuted.
    rows : str
        Rows whose contributions count, as in `Explainer.importances`.
    calibration : str
        As in `Explainer`.
    """

    model: Literal["forest", "cascade"]
    way: Literal["fit", "contributions", "permutations"]
    rows: str = "held_out"
    calibration: str = "partial"


#: The extras by name. MDI: interpretation paper, Eqs. 6 and 9 (``mdi_rf``), 25, 26 and 31 (``mdi_df``), 24 (additive),
#: 23 (multiplicative); ``mdi_oob_rf`` is the MDI-oob of Li et al. (2019), with centred responses.
RULES = MappingProxyType(
    {
        "mdi_rf": Rule("forest", "fit"),
        "mdi_oob_rf": Rule("forest", "contributions", "out_of_bag"),
        "mda_rf": Rule("forest", "permutations"),
        "mdi_df": Rule("cascade", "contributions"),
        "mdi_df_additive": Rule("cascade", "contributions", calibration="additive"),
        "mdi_df_multiplicative": Rule("cascade", "contributions", calibration="multiplicative"),
        "mda_df": Rule("cascade", "permutations"),
    }
)
