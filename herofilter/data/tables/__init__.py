"""The user's tables: reading, columns, ids, labels, extending a graph, predictions."""
