"""The variants of the filter study: one model, and what each changes in it."""

from typing import NamedTuple

from herofilter.config import Config

BASE = ("patcher=polynomial", "directed=symmetrise", "patch_size=9")


class Variant(NamedTuple):
    """One row of the study: its title, what it sets beyond ``BASE``, and what it asks."""

    title: str
    settings: tuple[str, ...]
    asks: str


VARIANTS = {
    "ppr": Variant(
        "Personalised PageRank",
        ("patcher=fast", "relations=out"),
        "Do patches of a fixed filter from the literature do as well? It differs in more than the "
        "filter: one set of slots and one summary where the reference has two of each.",
    ),
    "fixed": Variant(
        "Fixed filters",
        ("learn_filter=false",),
        "The reference with fixed filters: are its starts enough?",
    ),
    "learned": Variant("Learned filters", (), "The reference that the others are compared with."),
    "choice-stays": Variant(
        "Choice stays",
        ("refresh_every=100000",),
        "Must the patch follow the filter, or is the choice of its start enough?",
    ),
    "no-patch": Variant(
        "No patch", ("patch_size=1",), "Is the node beside the summaries enough, without a patch?"
    ),
    "no-mixer": Variant(
        "No mixer", ("num_layers=0",), "Is the patch enough, without blocks that mix it?"
    ),
    "no-drop-path": Variant(
        "No node skips the mixer",
        ("drop_path=0",),
        "Does it help that some nodes skip the mixer in a training step? Where the default lets "
        "none skip it, this is the reference.",
    ),
    "aligned": Variant(
        "Aligned start",
        ("filter_starts=low,aligned",),
        "Is a start from the training labels better than the second hop? How far the filter moved "
        "is counted from the second hop here, too.",
    ),
    "one-filter": Variant("One filter", ("filter_starts=hop2",), "Is the second filter needed?"),
    "three-filters": Variant(
        "Three filters", ("filter_starts=low,hop2,high",), "Does a high-pass filter add anything?"
    ),
    "no-summary-fixed": Variant(
        "Fixed, no summary",
        ("summary=false", "learn_filter=false"),
        "The next variant with fixed filters, which act through the patch alone.",
    ),
    "no-summary-learned": Variant(
        "Learned, no summary",
        ("summary=false",),
        "Does learning matter more where the filter acts through the patch alone?",
    ),
    "spectral": Variant(
        "Filters on eigenvectors",
        ("patcher=spectral", "num_eigenpairs=1000", "filter_lr=0.001"),
        "The paper's filter, with a weight per power and eigenvalue, on the 1000 eigenvalues of "
        "largest modulus.",
    ),
}


def variant_config(variant: str) -> Config:
    """Return a variant's settings.

    Example:
        >>> variant_config("no-patch").patcher.patch_size
        1
    """
    return Config().with_settings([*BASE, *VARIANTS[variant].settings])
