import torch

from herofilter.spectral.polynomial_basis import *


def transposed(basis):
    if isinstance(basis, ChebyshevBasis):
        return basis
    return WordBasis(basis.matrix, [tuple(not f for f in reversed(w)) for w in basis.words])


def choose_rows(basis, theta, widths, ego_first):
    n = basis.num_nodes
    p = sum(widths)
    basis = transposed(basis)
    index = torch.full((n, p), -1)
    entries = torch.zeros(n, p, basis.num_terms)
    B = 256
    for first in range(0, n, B):
        rows = torch.arange(first, min(first + B, n))
        width = (len(rows) + 7) // 8 * 8
        unit = torch.zeros(n, width)
        unit[rows, torch.arange(len(rows))] = 1
        terms = basis.terms(unit)
        at = 0
        for f, w in enumerate(widths):
            score = (theta[f] @ terms.flatten(1)).view(n, width)[:, : len(rows)].t().contiguous()
            if ego_first:
                score[torch.arange(len(rows)), rows] = 0
            score = score / score.abs().amax(1, keepdim=True).clamp(min=1e-30)
            score = score.mul_(2**18).round_()
            score = score.masked_fill_(score == 0, -torch.inf)
            top, idx = score.topk(w, 1)
            idx[torch.isinf(top)] = -1
            index[rows, at : at + w] = idx
            got = terms[:, idx.clamp(min=0).t(), torch.arange(len(rows))].permute(2, 1, 0)
            entries[rows, at : at + w] = got * (idx >= 0).unsqueeze(-1)
            at += w
    return index, entries
