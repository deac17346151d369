"""How much neighbours differ: the paper's measures, and those that allow for class sizes.

Unless said otherwise a measure looks at the undirected graph, with each pair of neighbours once
and without self-loops. Weights are ignored, and so are edges with an unlabelled end. Several
measures of one graph are best taken from one :class:`LabelPairs`.
"""

import torch
from torch import Tensor
from torch_geometric.data import Data

from herofilter.errors import GraphError
from herofilter.measures.label_pairs import LabelPairs, class_labels


def node_heterophily(data: Data) -> float:
    r"""Return the mean of :math:`\mathbf{h}` over the labelled nodes (Definition 1).

    A graph without edges has 0, as each of its nodes has.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 0, 1]))
        >>> node_heterophily(path)
        0.5
    """
    return LabelPairs.of(data).node_heterophily()


def node_heterophily_vector(data: Data, *, dtype: torch.dtype = torch.float32) -> Tensor:
    r"""Return the heterophily of each node (Definition 1).

    .. math::
        h_i = \frac{|\{v_j \in \mathcal{N}(v_i) : y_j \neq y_i\}|}{|\mathcal{N}(v_i)|}

    It is 0 for isolated nodes, for unlabelled ones and for those with unlabelled neighbours only.

    Shapes:
        - output: ``[n]``

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 0, 1]))
        >>> node_heterophily_vector(path).tolist()
        [0.0, 0.5, 1.0]
    """
    return LabelPairs.of(data).node_heterophily_vector(dtype)


def edge_heterophily(data: Data) -> float:
    r"""Return the share of listed edges whose ends have different labels.

    .. math::
        |\{(i, j) \in \mathcal{E} : y_i \neq y_j\}| \,/\, |\mathcal{E}|

    Edges count as often as ``edge_index`` lists them, in each direction, self-loops included: the
    value that most tables print as heterophily. It is NaN without labelled edges.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 0, 1]))
        >>> edge_heterophily(path)
        0.5
    """
    ends = class_labels(data)[data.edge_index]
    first, second = ends[:, (ends >= 0).all(dim=0)]
    return float((first != second).double().mean())


def class_adjusted_heterophily(data: Data) -> float:
    r"""Return one minus the class-insensitive homophily of Lim et al. (2021).

    .. math::
        1 - \frac{1}{C - 1} \sum_{k=1}^{C} \max\left(0, h_k - \frac{|C_k|}{n}\right)

    :math:`h_k` is the share of neighbours of class :math:`k` among the neighbours of its nodes, and
    :math:`n` counts labelled nodes. A random graph has about 1 whatever its class sizes. It is NaN
    without labelled edges or with one class.

    Example:
        >>> pairs = Data(edge_index=torch.tensor([[0, 2], [1, 3]]), y=torch.tensor([0, 0, 1, 1]))
        >>> class_adjusted_heterophily(pairs)
        0.0
    """
    return LabelPairs.of(data).class_adjusted_heterophily()


def adjusted_homophily(data: Data) -> float:
    r"""Return the edge homophily, corrected for what chance alone would give.

    .. math::
        \frac{h_{edge} - \sum_k \bar{p}_k^2}{1 - \sum_k \bar{p}_k^2}, \qquad
        \bar{p}_k = \frac{D_k}{2|\mathcal{E}|}

    :math:`D_k` is the sum of the degrees in class :math:`k` (Platonov et al., 2023). 1 means that
    only equals meet and 0 that edges ignore labels. It is NaN without labelled edges, or when all
    of them join nodes of one class.

    Example:
        >>> pairs = Data(edge_index=torch.tensor([[0, 2], [1, 3]]), y=torch.tensor([0, 0, 1, 1]))
        >>> adjusted_homophily(pairs)
        1.0
    """
    return LabelPairs.of(data).adjusted_homophily()


def label_informativeness(data: Data) -> float:
    r"""Return how much a neighbour's label tells about a node's own, from 0 to 1.

    .. math::
        LI_{edge} = \frac{I(y_\xi, y_\eta)}{H(y_\xi)} = 2 -
        \frac{\sum_{c,d} p_{cd} \log p_{cd}}{\sum_c \bar{p}_c \log \bar{p}_c}

    :math:`(\xi, \eta)` is a random edge, :math:`p_{cd}` the chance of the classes :math:`c, d` at
    its ends (Platonov et al., 2023). It tells heterophily with a pattern from mere noise. It is
    NaN where :func:`adjusted_homophily` is.

    Example:
        >>> bipartite = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 1, 0]))
        >>> label_informativeness(bipartite)
        1.0
    """
    return LabelPairs.of(data).label_informativeness()


def compatibility(data: Data) -> Tensor:
    """Return in row c the share of each class among the neighbours of nodes of class c.

    Rows add up to one, except for classes without labelled neighbours, whose rows are zero.

    Shapes:
        - output: ``[C, C]``

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0, 0, 1]))
        >>> compatibility(path).tolist()
        [[0.6666666865348816, 0.3333333432674408], [1.0, 0.0]]
    """
    return LabelPairs.of(data).compatibility()


def spectral_heterophily(h: Tensor, vectors: Tensor) -> Tensor:
    r"""Return :math:`\hat{\mathbf{h}} = \mathbf{U}^\top \mathbf{h}` (Definition 2).

    Shapes:
        - h: ``[n]``; vectors: ``[n, f]``; output: ``[f]``

    Example:
        >>> spectral_heterophily(torch.tensor([0.5, 1.0]), torch.eye(2)).tolist()
        [0.5, 1.0]
    """
    if h.dim() != 1 or vectors.dim() != 2 or h.size(0) != vectors.size(0):
        raise GraphError(
            "h must have one entry per row of vectors "
            f"(got shapes {list(h.shape)} and {list(vectors.shape)}); take both from one graph"
        )
    return vectors.t() @ h.to(vectors.dtype)
