"""Speed and memory, measured by commands that write what they measured."""
