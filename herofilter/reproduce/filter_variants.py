"""The variants of the filter study: one model, and what each changes in it."""

from typing import NamedTuple

from herofilter.config import Config

BASE = (
    "patcher=spectral",
    "directed=symmetrise",
    "self_loops=true",
    "patch_size=9",
    "filter_lr=0.001",
)


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
    "learned-lr-1e-2": Variant(
        "Learned ten times faster", ("filter_lr=0.01",), "Does the filter move too slowly?"
    ),
    "shared": Variant(
        "One weight per power", ("filter=shared",), "Is a weight per eigenvalue too many?"
    ),
    "signed": Variant(
        "Both ends of the scores", ("selection=signed",), "Do the most negative scores help?"
    ),
    "one-filter": Variant("One filter", ("filter_starts=low",), "Is the second filter needed?"),
    "three-filters": Variant(
        "Three filters", ("filter_starts=low,hop2,high",), "Does a high-pass filter add anything?"
    ),
    "frozen": Variant(
        "Choice frozen",
        ("freeze_after=50",),
        "Does it help to leave the members alone after epoch 50, while scores still learn?",
    ),
    "straight-through": Variant(
        "Straight-through scores",
        ("score_norm=straight_through",),
        "Should scores only carry gradients, and not scale the tokens?",
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
    "small-patch-fixed": Variant(
        "Fixed, three tokens",
        ("patch_size=3", "learn_filter=false"),
        "The next variant with fixed filters: two members to choose, one per filter.",
    ),
    "small-patch-learned": Variant(
        "Learned, three tokens",
        ("patch_size=3",),
        "Does learning matter more where there is little room?",
    ),
}


def variant_config(variant: str) -> Config:
    """Return a variant's settings.

    Example:
        >>> variant_config("small-patch-fixed").patcher.patch_size
        3
    """
    return Config().with_settings([*BASE, *VARIANTS[variant].settings])
