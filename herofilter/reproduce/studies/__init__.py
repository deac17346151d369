"""One small file per table or figure of the paper, run by ``herofilter reproduce``."""
