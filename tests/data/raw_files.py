"""Writers of tiny raw files in the formats of the named datasets."""

import gzip
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.io import savemat

NODES = 30
EDGES = np.array([(i, (i + step) % NODES) for i in range(NODES) for step in (1, 7)])


def features(columns: int = 4) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((NODES, columns)).astype(np.float32)


def thirds(splits: int) -> dict[str, np.ndarray]:
    """Return masks of shape [splits, n], each split turned by one node."""
    part = np.stack([(np.arange(NODES) + i) % 3 for i in range(splits)])
    return {"train_masks": part == 0, "val_masks": part == 1, "test_masks": part == 2}


def write_npz(path: Path, **changes: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        "node_features": features(),
        "node_labels": np.arange(NODES) % 3,
        "edges": EDGES,
        **thirds(10),
        **changes,
    }
    np.savez(path, **arrays)
    return path


def write_ogb(folder: Path) -> None:
    rows = {
        "raw/edge": EDGES,
        "raw/node-feat": features(),
        "raw/node-label": np.arange(NODES)[:, None] % 4,
        "raw/node_year": 1990 + np.arange(NODES)[:, None],
        "split/time/train": np.arange(0, 20)[:, None],
        "split/time/valid": np.arange(20, 25)[:, None],
        "split/time/test": np.arange(25, NODES)[:, None],
    }
    for stem, values in rows.items():
        path = folder / "ogbn-arxiv" / f"{stem}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as file:
            file.writelines(",".join(map(str, row)) + "\n" for row in values.tolist())


def write_arxiv_structure(folder: Path) -> Path:
    path = folder / "ogbn-arxiv-structure" / "arxiv.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    masks = {f"year_{k.replace('val', 'valid')}": v for k, v in thirds(5).items()}
    np.savez(
        path,
        edge_index=EDGES.T.astype(np.int32),
        node_label=(np.arange(NODES) % 4).astype(np.int16),
        node_year=(1990 + np.arange(NODES)).astype(np.int16),
        train_idx=np.arange(0, 20),
        valid_idx=np.arange(20, 25),
        test_idx=np.arange(25, NODES),
        **masks,
    )
    return path


def write_snap_patents(folder: Path) -> Path:
    path = folder / "snap-patents" / "snap_patents.mat"
    path.parent.mkdir(parents=True, exist_ok=True)
    years = np.arange(1980, 1980 + NODES, dtype=float)[None, :]
    dense = np.where(features(6) > 0.5, features(6), 0)
    savemat(
        path,
        {
            "edge_index": EDGES.T,
            "node_feat": sp.csr_matrix(dense.astype(float)),
            "years": years,
            "num_nodes": NODES,
        },
    )
    return path


def write_penn94(folder: Path) -> Path:
    path = folder / "penn94" / "Penn94.mat"
    path.parent.mkdir(parents=True, exist_ok=True)
    # student or staff, gender (0 is unknown), major
    profile = np.stack([np.arange(NODES) % 2, np.arange(NODES) % 3, np.arange(NODES) % 5], axis=1)
    both = np.concatenate([EDGES, EDGES[:, ::-1]])
    links = sp.csc_matrix((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(NODES, NODES))
    savemat(path, {"A": links, "local_info": profile.astype(np.int32)})
    return path


def write_texts(folder: Path, prefix: str) -> None:
    """Write the node list, edge list and ten splits of geom-gcn."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["node_id\tfeature\tlabel"]
    lines += [
        f"{i}\t{','.join(str(int(i % k == 0)) for k in (2, 3))}\t{i % 3}" for i in range(NODES)
    ]
    (folder / "out1_node_feature_label.txt").write_text("\n".join(lines) + "\n")
    edges = ["node_id\tnode_id", *(f"{a}\t{b}" for a, b in EDGES)]
    (folder / "out1_graph_edges.txt").write_text("\n".join(edges) + "\n")
    masks = thirds(10)
    for i in range(10):
        np.savez(
            folder / f"{prefix}_split_0.6_0.2_{i}.npz",
            **{k.removesuffix("s"): v[i].astype(np.uint8) for k, v in masks.items()},
        )
