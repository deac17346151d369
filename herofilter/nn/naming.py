"""What a configuration may be called: HeroFilter only with its three parts."""

from herofilter.config import Config

SMALLEST_PATCH = 5
_FIXED_FILTERS = ("ppr", "gcn")


def model_title(model: str, config: Config) -> str:
    """Return what a model with these settings is, whatever name it is registered under.

    HeroFilter has a learned filter, patches of at least five nodes, and at least one block that
    mixes along the patch and along the features. Settings can take each of these away; what is
    left is then called:

    - ``fast-herofilter``: personalised-PageRank patches of at least five nodes, and a mixer;
    - ``fixed-filter-mixer``: the same with another filter that isn't learned;
    - ``patch-mlp``: patches without a mixer;
    - ``summary-mlp``: summaries beside fewer than five nodes, without a mixer;
    - ``patch-mixer`` and ``summary-mixer``: a mixer, but fewer than five nodes;
    - ``mlp``: the node itself and nothing else.

    A baseline keeps its registered name.

    Args:
        model: a registered model.
        config: its settings, best resolved for the graph.

    Example:
        >>> model_title("herofilter", Config())
        'HeroFilter'
        >>> model_title("herofilter", Config().replace(patch_size=1, num_layers=0))
        'summary-mlp'
    """
    if model not in ("herofilter", "fast-herofilter"):
        return model
    size, summary = config.patcher.patch_size, config.model.summary
    if size == 1 and not summary:
        return "mlp"
    mixing = config.model.patch_mixing and config.model.feature_mixing
    mixes = config.model.num_layers >= 1 and mixing
    if mixes and size >= SMALLEST_PATCH:
        return _by_filter(model, config)
    tokens = "summary" if summary and size < SMALLEST_PATCH else "patch"
    return f"{tokens}-{'mixer' if mixes else 'mlp'}"


def _by_filter(model: str, config: Config) -> str:
    if model == "fast-herofilter" or config.patcher.patcher == "fast":
        return "fast-herofilter"
    learned = config.train.learn_filter and config.patcher.filter not in _FIXED_FILTERS
    return "HeroFilter" if learned else "fixed-filter-mixer"
