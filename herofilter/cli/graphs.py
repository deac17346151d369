"""The commands list and info."""

from rich.console import Console

import herofilter
from herofilter.cli.common import Graph, Json, app, print_json


@app.command("list", epilog="Example: herofilter list --json")
def list_command(as_json: Json = False) -> None:
    """List datasets and models, with what is on disk."""
    from herofilter.data import list_datasets, on_disk
    from herofilter.report.console import dataset_table, model_table

    datasets = [(info, on_disk(info.name)) for info in list_datasets()]
    models = herofilter.list_models()
    if as_json:
        print_json(
            {
                "datasets": [
                    {"name": i.name, "splits": i.num_splits, "variant": i.variant, "on_disk": there}
                    for i, there in datasets
                ],
                "models": [{"name": m.name, "paper": m.paper, "scales": m.scales} for m in models],
            }
        )
        return
    console = Console()
    console.print(dataset_table(datasets))
    console.print(model_table(models))


@app.command(epilog="Example: herofilter info karate")
def info(graph: Graph, as_json: Json = False) -> None:
    """Print a graph's data card: size, oddities, heterophily, memory that patches need."""
    from herofilter.analysis import data_card
    from herofilter.data import check_graph
    from herofilter.report.console import card_table

    data = herofilter.load_dataset(graph, split=None)
    check_graph(data, split_required=False)
    card = data_card(data, graph)
    if as_json:
        print_json(card.to_dict())
    else:
        Console().print(card_table(card))
