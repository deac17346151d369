r"""How far the truncated Chebyshev recurrence can be from the exact scores.

The recurrence :math:`\mathbf{x}_{k+1} = 2\tilde{\mathbf{A}}(\mathbf{x}_k - \boldsymbol{\delta}_k) -
\mathbf{x}_{k-1}` leaves :math:`\boldsymbol{\delta}_k` out of the product at step k. That changes
:math:`\mathbf{x}_{k+1}` by :math:`-2\tilde{\mathbf{A}} \boldsymbol{\delta}_k`, and what follows by
the recurrence of the Chebyshev polynomials of the second kind :math:`U_j`:

.. math::
    \mathbf{x}_m = T_m(\tilde{\mathbf{A}}) \mathbf{e}_v
    - \sum_{k < m} 2\tilde{\mathbf{A}}\, U_{m-k-1}(\tilde{\mathbf{A}})\, \boldsymbol{\delta}_k

So the error of :math:`\sum_m \theta_m \mathbf{x}_m` is :math:`\sum_k q_k(\tilde{\mathbf{A}})
\boldsymbol{\delta}_k` with :math:`q_k(x) = -2x \sum_{m>k} \theta_m U_{m-k-1}(x)`. As the symmetric
:math:`\tilde{\mathbf{A}}` has its eigenvalues in [-1, 1], no entry of it exceeds
:math:`\sum_k \max_{|x| \le 1} |q_k(x)| \, \|\boldsymbol{\delta}_k\|_2`.
"""

import numpy as np

# grid points per degree
FINE = 64


def error_factors(coefficients: np.ndarray) -> np.ndarray:
    r"""Return :math:`\max_{|x| \le 1} |q_k(x)|` for each k below K, rounded up.

    A polynomial of degree d exceeds its largest modulus at M zeros of :math:`T_M` by a factor of
    :math:`1 / \cos(\pi d / 2M)` at most.

    Shapes:
        - **coefficients**: [F, K + 1]
        - **returns**: [F, K]

    Example:
        >>> error_factors(np.array([[0.0, 0.0, 1.0]])).round(2).tolist()  # x₂ changes by 2 Ã δ₁
        [[4.0, 2.0]]
    """
    order = coefficients.shape[1] - 1
    size = FINE * max(order, 1)
    angle = (np.arange(size) + 0.5) * np.pi / size
    x = np.cos(angle)
    # [j, M], U_j(x) = sin((j + 1) angle) / sin(angle)
    second = np.sin(np.outer(np.arange(1, order + 1), angle)) / np.sin(angle)
    factors = np.zeros((len(coefficients), order))
    for k in range(order):
        rest = np.asarray(coefficients, np.float64)[:, k + 1 :]
        factors[:, k] = np.abs(2 * x * (rest @ second[: order - k])).max(axis=1)
    return np.asarray(factors / np.cos(np.pi / (2 * FINE)))
