"""The largest entries of rows of a polynomial in the adjacency: exact blocks and local rows."""
