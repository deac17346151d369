"""Named datasets: the registry, where files lie, one reader per collection."""
