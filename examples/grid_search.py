"""HeroFilter inside scikit-learn: cross-validation and a grid search over the nodes of a graph.

python examples/grid_search.py [nodes]
"""

import sys

import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score

from herofilter import HeroFilterClassifier, csbm


def main(num_nodes: int = 300) -> None:
    data = csbm(num_nodes=num_nodes, num_classes=3, heterophily=0.8)
    labels = np.array(["red", "green", "blue"])[data.y]
    # the graph is given once; scikit-learn splits the indices of its nodes
    nodes = np.arange(num_nodes)
    classifier = HeroFilterClassifier(graph=data, model="herofilter", patch_size=8, epochs=40)

    scores = cross_val_score(classifier, nodes, labels, cv=3)
    print(f"test accuracy {scores.mean():.3f} ± {scores.std():.3f} over 3 folds")

    grid = {"aggregation": ["weighted", "slot_concat"], "weight_decay": [5e-4, 5e-3]}
    search = GridSearchCV(classifier, grid, cv=2).fit(nodes[:-20], labels[:-20])
    print(f"best of {len(search.cv_results_['params'])}: {search.best_params_}")
    print(f"test accuracy {search.score(nodes[-20:], labels[-20:]):.3f} on held-out nodes")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
