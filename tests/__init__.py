"""Tests in the tree of the package; a test process has one thread by itself."""

import os

# before torch and numpy are loaded: pytest-xdist runs one process per core
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# a second thread that waits in a loop for work would take the core of another process
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
