"""Runs the commands of a lesson, in its order, in the current folder, and compares what they print.

    lesson.py PROGRAM LESSON.md

Commands stand in indented blocks behind "$ ", their output on the lines behind them; a line "..."
stands for any lines. A block that begins with "steps" takes the place of the steps of answer.json.
Prints how many commands there are; of each that prints something else, the place and the output, and
exits with 1. With UPDATE_GOLDEN=1 outputs without "..." are renewed instead.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

INDENT = "    "


def blocks(lines):
    """Yields the indented blocks as (first line, line behind the last); blanks may stand within."""
    start = None
    for number, line in enumerate(lines + ["end"]):
        if line.startswith(INDENT) and start is None and (number == 0 or not lines[number - 1]):
            start = number
        elif start is not None and line and not line.startswith(INDENT):
            end = number
            while not lines[end - 1]:
                end -= 1
            yield start, end
            start = None


def commands(lines, start, end):
    """Yields the commands of a block as (line, text, first line of the output, line behind it)."""
    number = start
    while number < end:
        first, text = number, lines[number][len(INDENT) + 2 :]
        number += 1
        while text.endswith("\\"):
            text = text[:-1] + lines[number].strip()
            number += 1
        output = number
        while number < end and not lines[number].startswith(INDENT + "$ "):
            number += 1
        yield first, text, output, number


def answer(lines):
    """Puts steps into answer.json."""
    path = Path("answer.json")
    before = path.read_text().split('"steps": [')[0]
    path.write_text(before + "\n".join(lines) + " }\n")


def is_printed(want, got):
    pattern = "".join("(?:.*\n)*" if line == "..." else re.escape(line) + "\n" for line in want)
    return re.fullmatch(pattern, "".join(line + "\n" for line in got)) is not None


def run(text, program):
    environment = dict(os.environ, PATH=f"{Path(program).parent}:{os.environ['PATH']}")
    done = subprocess.run(
        ["sh", "-c", text], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return [line.rstrip() for line in done.stdout.rstrip().split("\n")] if done.stdout.strip() else []


def main(program, path):
    lines = Path(path).read_text().split("\n")
    renewed, copied, n, wrong = [], 0, 0, 0
    for start, end in blocks(lines):
        if lines[start].startswith(INDENT + '"steps"'):
            answer(line.strip() for line in lines[start:end])
        if not lines[start].startswith(INDENT + "$ "):
            continue
        for number, text, output, behind in commands(lines, start, end):
            n += 1
            want = [line[len(INDENT) :] for line in lines[output:behind]]
            got = run(text, program)
            if is_printed(want, got):
                continue
            if os.environ.get("UPDATE_GOLDEN") and "..." not in want:
                renewed += lines[copied:output] + [(INDENT + line).rstrip() for line in got]
                copied = behind
                continue
            wrong += 1
            print(f"{path}:{number + 1}: {text}", *got, sep="\n", file=sys.stderr)
    if renewed:
        Path(path).write_text("\n".join(renewed + lines[copied:]))
    print(f"{n} commands print what the lesson says" if not wrong else f"{wrong} of {n} commands do not")
    return 1 if wrong or not n else 0


sys.exit(main(*sys.argv[1:]))
