"""From two CSV tables to predictions, reasons and a report, cell by cell.

Run it inside this folder: python csv_to_report.py. csv_to_report.ipynb is made from it.
"""

# %% [markdown]
# # From CSV tables to a report
#
# Which region of the United States is an airport in? `airports/airports.csv` has 292 airports, of
# which three regions in ten are blank, and `airports/flights.csv` the flights between them. Open
# this in the folder `examples`, with `pip install "herofilter[tables]"`.

# %%
from pathlib import Path

from herofilter import Predictor, read_graph
from herofilter.measures import data_card
from herofilter.predict import predict_tables
from herofilter.report.explanation import explain_saved
from herofilter.report.model_report import write_report
from herofilter.training.search.fitting import fit_graph

tables, folder = Path("airports"), Path("runs/csv_to_report")
seconds = 20  # with more time better settings are found

# %% [markdown]
# ## Read the tables, and see what kind of graph they make

# %%
graph = read_graph(
    tables / "flights.csv",
    tables / "airports.csv",
    label="region",
    source="origin",
    target="destination",
    weight="flights",
    features=("latitude", "departures"),
)
card = data_card(graph.data)
print(f"{card.num_nodes} airports, {card.num_undirected_edges} pairs with flights")
print(f"{card.edge_heterophily:.0%} of the routes lead to another region")

# %% [markdown]
# ## Compare models, and keep the one that the validation nodes prefer

# %%
fitted = fit_graph(graph, budget=seconds)
print(*fitted.said, sep="\n")
fitted.predictor.save(folder)

# %% [markdown]
# ## Predict the regions that are blank

# %%
model = Predictor.load(folder)
predict_tables(model).write(folder / "predictions.csv")
header, *rows = (folder / "predictions.csv").read_text().splitlines()
print(header, *[row for row in rows if row.split(",")[1] == ""][:3], sep="\n")

# %% [markdown]
# ## Ask why, and write the report, which any browser opens without a network

# %%
print(*explain_saved(model, "ABE")["said"], sep="\n")
print("report:", write_report(folder).as_posix())
