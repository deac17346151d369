r"""How far push can be below the exact scores, and whether a row's choice is certified.

Let :math:`\rho_w` be the mass that waits at :math:`w` unpushed, and :math:`d` degrees. Pushing all
of it to the end would raise the score of node :math:`u` in the row of source :math:`v` by some
:math:`e_u`. Two bounds hold for it:

.. math::
    e_u \le c \sqrt{d_v \textstyle\sum_w \rho_w^2 / d_w}, \qquad
    e_u \le c \sqrt{d_v d_u} \max_w \rho_w / d_w

The first because :math:`\|\mathbf{D}_{out}^{-1/2} \mathbf{A} \mathbf{D}_{in}^{-1/2}\|_2 \le 1`; the
second, on symmetric graphs only, because a walk from :math:`w` to :math:`u` is as likely as its
reverse times :math:`d_u / d_w`.
"""

from typing import Any

import numpy as np

from herofilter.jit import compiled


@compiled(nogil=True)
def certify(
    graph: Any,
    work: Any,
    near: Any,
    v: Any,
    c: float,
    eps: float,
    rule: Any,
    index: Any,
    score: Any,
) -> bool:
    """Return whether no node left out can exceed the last one chosen by more than the margin.

    ``near`` are all nodes touched, ``index`` and ``score`` a full row, and the last score times
    ``1 + margin`` is what no other node may exceed.
    """
    square, worst = 0.0, 0.0
    for u in near:
        waiting = work[u, 0] - (work[u, 1] - eps * graph.degree[u])
        rate = waiting / graph.degree[u]
        worst = max(worst, rate)
        square += waiting * rate
    everywhere = c * graph.left[v] * np.sqrt(square)
    by_root = c * graph.left[v] * worst
    lowest = score[-1]
    bar = (1.0 + rule.margin) * lowest
    # nodes that were never touched have no score at all, and this error at most
    if everywhere > bar:
        return False
    last = graph.ids[index[-1]]
    scale = (1.0 - c) * graph.left[v]
    for u in near:
        value = np.float32(scale * work[u, 0] * graph.right[u])
        chosen = value > lowest or (value == lowest and graph.ids[u] <= last)
        if chosen or (rule.ego_first and u == v):
            continue
        error = everywhere
        if graph.symmetric:
            error = min(error, by_root / graph.right[u])
        if value + error > bar:
            return False
    return True
