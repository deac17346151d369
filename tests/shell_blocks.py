"""The commands that documents show, and the output that they show below them."""

import re
import shlex
from typing import NamedTuple

# first words of the lines of a block without prompts that are commands
PROGRAMS = ("herofilter", "python", "make", "pip", "curl", "torchrun", "srun", "head")


class Shown(NamedTuple):
    """A command of a document, as words, and the lines of output below it."""

    words: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)


def code_blocks(text: str) -> list[list[str]]:
    """Return the lines of all blocks that aren't Python: indented, or fenced as a shell's."""
    fenced = re.findall(r"^```(?:bash|sh|console|shell)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"(?:^    .*\n(?:\n(?=    ))?)+", rest, re.MULTILINE)
    return [
        *(block.splitlines() for block in fenced),
        *([line[4:] for line in block.splitlines()] for block in indented),
    ]


def shown_commands(text: str) -> list[Shown]:
    """Return the commands of a document: lines after ``$``, or lines that begin with a program."""
    found: list[Shown] = []
    for block in code_blocks(text):
        lines = re.sub(r"\\\n\s*", "", "\n".join(block)).splitlines()
        prompts = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if line.startswith("$ ") or (not prompts and line.split(" ")[0] in PROGRAMS):
                words = shlex.split(line.removeprefix("$ "), comments=True)
                found.append(Shown(tuple(words), ()))
            elif prompts and found:
                last = found.pop()
                found.append(Shown(last.words, (*last.output, line)))
    return found


def inline_commands(text: str) -> list[str]:
    """Return the commands within sentences and tables, such as ```herofilter info GRAPH```."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^    .*$", "", prose, flags=re.MULTILINE)
    return [" ".join(words.split()) for words in re.findall(r"`(herofilter\s[^`]+)`", prose)]
