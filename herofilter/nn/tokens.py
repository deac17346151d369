"""The tokens of patches: members with their labels, scaled by their scores, then the summaries."""

import torch
from torch import Tensor

from herofilter.nn.gather import gather_tokens
from herofilter.nn.labels import LabelTokens
from herofilter.nn.patch_batch import Part


def join_tokens(
    members: Tensor,
    scale: Tensor,
    label_tokens: LabelTokens | None,
    labels: Tensor | None,
    summary: Tensor | None,
) -> Tensor:
    """Return the tokens of some nodes.

    Args:
        members: the hidden vectors of the patch members.
        scale: the factor of each.
        label_tokens: the vectors of labels, if the model has such.
        labels: as :meth:`LabelTokens.look_up` gives them.
        summary: further tokens.

    Shapes:
        - members: ``[p, b, h]``; scale and labels: ``[b, p]``; summary: ``[s, b, h]``
        - output: ``[p + s, b, h]``

    Example:
        >>> join_tokens(torch.ones(2, 1, 4), torch.tensor([[1.0, 0.5]]), None, None, None)[:, 0, 0]
        tensor([1.0000, 0.5000])
    """
    if label_tokens is not None and labels is not None:
        members = members + label_tokens(labels).transpose(0, 1)
    members = members * scale.t().unsqueeze(-1)
    return members if summary is None else torch.cat([members, summary])


def fill_tokens(hidden: Tensor, part: Part, label_tokens: LabelTokens | None) -> Tensor:
    """Return the result of :func:`join_tokens` without gradients, and without copies."""
    count = part.index.size(1)
    num_summaries = 0 if part.summary is None else part.summary.size(0)
    tokens = gather_tokens(hidden, part.index, num_summaries)
    members = tokens[:count]
    if label_tokens is not None and part.labels is not None:
        members += label_tokens(part.labels).transpose(0, 1)
    members *= part.scale.t().unsqueeze(-1)
    if part.summary is not None:
        tokens[count:] = part.summary
    return tokens
