"""Adam for tables of vectors of which a step touches only some rows."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from herofilter.jit import compiled


class RowAdam(torch.optim.Optimizer):
    r"""Adam in which every row has its own step count, raised only when the row has a gradient.

    For a row that is touched for the t-th time, with its gradient **g**,

    .. math::
        \mathbf{m} \leftarrow \beta_1 \mathbf{m} + (1 - \beta_1) \mathbf{g}, \qquad
        \mathbf{v} \leftarrow \beta_2 \mathbf{v} + (1 - \beta_2) \mathbf{g}^2, \qquad
        \mathbf{w} \leftarrow \mathbf{w} - \eta\, \frac{\mathbf{m} / (1 - \beta_1^t)}
        {\sqrt{\mathbf{v} / (1 - \beta_2^t)} + \epsilon}

    and nothing happens to the others, so that a step costs the rows that it touches, however
    large the table. A row that is touched at every step moves as under Adam.

    Args:
        params: tables ``[n, h]``; a gradient may be sparse (some rows) or dense (all of them). Off
            the CPU it is dense, and a row of zeros counts as one without a gradient.
        lr: η.
        betas: β₁ and β₂.
        eps: ε.

    Example:
        >>> table = nn.Parameter(torch.zeros(3, 2))
        >>> optimizer = RowAdam([table], lr=0.1)
        >>> nn.functional.embedding(torch.tensor([1]), table, sparse=True).sum().backward()
        >>> optimizer.step()
        >>> [f"{value:.2f}" for value in table[:, 0].tolist()]
        ['0.00', '-0.10', '0.00']
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float = 0.01,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move the rows that have a gradient."""
        for group in self.param_groups:
            rates = (group["lr"], *group["betas"], group["eps"])
            for table in group["params"]:
                if table.grad is None:
                    continue
                state = self.state[table]
                if not state:
                    state["step"] = table.new_zeros(table.size(0), dtype=torch.int32)
                    state["exp_avg"] = torch.zeros_like(table)
                    state["exp_avg_sq"] = torch.zeros_like(table)
                moments = (state[key] for key in ("step", "exp_avg", "exp_avg_sq"))
                parts = (*_rows(table.grad), table, *moments)
                if table.device.type == "cpu":
                    _move(*(part.detach().numpy() for part in parts), *rates)
                else:
                    _move_gathered(*parts, *rates)


def _rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows that a gradient has, each once, and what it is there."""
    if gradient.device.type != "cpu":
        rows = gradient.any(1).nonzero().view(-1)
        return rows, gradient[rows]
    if not gradient.is_sparse:
        return torch.arange(gradient.size(0)), gradient.contiguous()
    rows = gradient._indices()[0]
    # looked up in rising order, no row comes twice, and sorting is spared
    if not bool((rows[1:] > rows[:-1]).all()):
        gradient = gradient.coalesce()
    return gradient._indices()[0], gradient._values().contiguous()


def _move_gathered(
    rows: Tensor,
    gradient: Tensor,
    table: Tensor,
    steps: Tensor,
    first: Tensor,
    second: Tensor,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
) -> None:
    """Do what :func:`_move` does, on any device."""
    steps[rows] += 1
    # [r, 1]
    count = steps[rows].unsqueeze(1)
    m = first[rows] * beta1 + gradient * (1 - beta1)
    v = second[rows] * beta2 + gradient.square() * (1 - beta2)
    first[rows], second[rows] = m, v
    length, scale = rate / (1 - beta1**count), (1 - beta2**count).rsqrt()
    table[rows] -= length * m / (v.sqrt() * scale + eps)


# without numpy's rule of division it would look for zeros value by value, at four times the cost
@compiled(nogil=True, error_model="numpy")
def _move(
    rows: Any,
    gradient: Any,
    table: Any,
    steps: Any,
    first: Any,
    second: Any,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
) -> None:
    keep1, take1 = np.float32(beta1), np.float32(1 - beta1)
    keep2, take2 = np.float32(beta2), np.float32(1 - beta2)
    least = np.float32(eps)
    for position in range(rows.size):
        row = rows[position]
        steps[row] += 1
        length = np.float32(rate / (1 - beta1 ** steps[row]))
        scale = np.float32(1 / math.sqrt(1 - beta2 ** steps[row]))
        g, w, m, v = gradient[position], table[row], first[row], second[row]
        for channel in range(g.size):
            m[channel] = keep1 * m[channel] + take1 * g[channel]
            v[channel] = keep2 * v[channel] + take2 * g[channel] * g[channel]
            w[channel] -= length * m[channel] / (math.sqrt(v[channel]) * scale + least)
