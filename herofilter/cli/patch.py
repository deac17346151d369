"""The command patch."""

from pathlib import Path
from typing import Annotated

import typer

import herofilter
from herofilter.cli.app import Graph, Json, app, print_json


@app.command(
    epilog="Example: herofilter patch arxiv-structure --patch-size 32 --refine 10000 --out patches"
)
def patch(
    graph: Graph,
    out: Annotated[Path, typer.Option(help="Folder; unfinished patches in it are continued.")],
    patch_size: Annotated[int, typer.Option(help="Nodes in a patch, the node itself included.")] = (
        16
    ),
    c: Annotated[float, typer.Option(help="How far the diffusion reaches, below 1.")] = 0.5,
    tolerance: Annotated[
        float, typer.Option(help="Residual that may remain at a node, per edge of it.")
    ] = 1e-5,
    relations: Annotated[
        str, typer.Option(help="Some of out,in,coreference,cocitation, each with separate slots.")
    ] = "out",
    directed: Annotated[
        bool, typer.Option("--directed", help="Follow the direction of edges.")
    ] = False,
    self_loops: Annotated[
        bool, typer.Option("--self-loops/--no-self-loops", help="Give nodes an edge to themselves.")
    ] = True,
    refine: Annotated[
        int, typer.Option(help="Edges a row may take until its choice is certified; 0 for none.")
    ] = 0,
    margin: Annotated[
        float, typer.Option(help="By how much a node left out of a certified row may exceed it.")
    ] = 0.01,
    hub_limit: Annotated[
        int,
        typer.Option(help="Most edges of a node between two that share it; 0 for 1 / tolerance."),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Choose every node's patch by top-p personalised PageRank and save them in a folder."""
    from herofilter.data.graph_path import check_graph_name
    from herofilter.files import check_folder_target

    check_graph_name(graph)
    check_folder_target(out)

    from herofilter.memory import format_bytes
    from herofilter.report.patching import PatchBar, patch_sentences, patch_summary
    from herofilter.report.terminal import Console

    patcher = herofilter.FastPatcher(
        patch_size=patch_size,
        c=c,
        tolerance=tolerance,
        self_loops=self_loops,
        directed="keep" if directed else "symmetrise",
        relations=tuple(relations.split(",")),
        refine=refine,
        margin=margin,
        hub_limit=hub_limit,
    )
    data = herofilter.load_dataset(graph, split=None)
    needed = patcher.memory(int(data.num_nodes or 0), int(data.edge_index.size(1)))
    console = Console()
    if not as_json:
        console.print(f"about {format_bytes(needed)} of memory at most", highlight=False)
    with PatchBar(int(data.num_nodes or 0)) as bar:
        store = herofilter.write_patches(patcher, data, out, bar)
    summary = patch_summary(store, bar, needed)
    if as_json:
        print_json(summary)
    else:
        for sentence in patch_sentences(summary):
            console.print(sentence, highlight=False)
