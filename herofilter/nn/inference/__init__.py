"""Forward passes without gradients: fused, exported and served forms of the model."""
