"""What the speed studies and the benchmarks measure, and the processes that they measure in."""
