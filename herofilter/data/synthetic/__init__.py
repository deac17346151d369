"""Random graphs: block models and power laws."""
