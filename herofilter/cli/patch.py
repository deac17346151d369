"""The command patch."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import herofilter
from herofilter.cli.app import Graph, Json, app, print_json
from herofilter.cli.engine_options import Address, Engine
from herofilter.settings import PatcherConfig

_USUAL = PatcherConfig()


@app.command(
    epilog="Example: herofilter patch arxiv-structure --patch-size 32 --refine 10000 --out patches"
)
def patch(
    graph: Graph,
    out: Annotated[Path, typer.Option(help="Folder; unfinished patches in it are continued.")],
    patch_size: Annotated[int, typer.Option(help="Nodes in a patch, the node itself included.")] = (
        _USUAL.patch_size
    ),
    c: Annotated[float, typer.Option(help="How far the diffusion reaches, below 1.")] = _USUAL.c,
    tolerance: Annotated[
        float, typer.Option(help="Residual that may remain at a node, per edge of it.")
    ] = _USUAL.tolerance,
    relations: Annotated[
        str, typer.Option(help="Some of out,in,coreference,cocitation, each with separate slots.")
    ] = ",".join(_USUAL.relations),
    directed: Annotated[
        bool, typer.Option("--directed/--undirected", help="Follow the direction of edges or not.")
    ] = _USUAL.directed == "keep",
    self_loops: Annotated[
        bool, typer.Option("--self-loops/--no-self-loops", help="Give nodes an edge to themselves.")
    ] = _USUAL.self_loops,
    refine: Annotated[
        int, typer.Option(help="Edges a row may take until its choice is certified; 0 for none.")
    ] = _USUAL.refine,
    margin: Annotated[
        float, typer.Option(help="By how much a node left out of a certified row may exceed it.")
    ] = 0.01,
    hub_limit: Annotated[
        int,
        typer.Option(help="Most edges of a node between two that share it; 0 for 1 / tolerance."),
    ] = _USUAL.hub_limit,
    edges_on_disk: Annotated[
        bool,
        typer.Option(
            "--edges-on-disk",
            help="Read edges row by row, slower: where even mapped files count as memory.",
        ),
    ] = False,
    engine: Engine = "local",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """Choose every node's patch by top-p personalised PageRank and save them in a folder.

    The defaults are those of `train --patches`.
    """
    from herofilter.data.graph_path import check_graph_name
    from herofilter.distributed.engine import check_engine
    from herofilter.files import check_folder_target

    check_engine(engine, address)
    check_graph_name(graph)
    check_folder_target(out)

    from herofilter.config import Config
    from herofilter.distributed import ray_jobs, shards_by
    from herofilter.memory import format_bytes
    from herofilter.nn.build import fast_patcher
    from herofilter.parallel.processes import run_jobs
    from herofilter.report.patching import PatchBar, patch_sentences, patch_summary
    from herofilter.report.terminal import Console

    config = Config().replace(
        patcher="fast",
        patch_size=patch_size,
        c=c,
        tolerance=tolerance,
        self_loops=self_loops,
        directed="keep" if directed else "symmetrise",
        relations=tuple(relations.split(",")),
        refine=refine,
        hub_limit=hub_limit,
    )
    data = herofilter.load_dataset(graph, split=None)
    patcher = dataclasses.replace(fast_patcher(data, config), margin=margin)
    patcher.check(data)
    make = None
    if engine == "ray":
        make = shards_by(partial(ray_jobs, address=address), edges_on_disk)
    elif edges_on_disk:
        make = shards_by(partial(run_jobs, workers=1), edges_on_disk)
    needed = patcher.memory(int(data.num_nodes or 0), int(data.edge_index.size(1)))
    console = Console()
    if not as_json:
        console.print(f"about {format_bytes(needed)} of memory at most", highlight=False)
    with PatchBar(int(data.num_nodes or 0)) as bar:
        store = herofilter.write_patches(patcher, data, out, bar, make=make)
    summary = patch_summary(store, bar, needed)
    if as_json:
        print_json(summary)
    else:
        for sentence in patch_sentences(summary):
            console.print(sentence, highlight=False)
