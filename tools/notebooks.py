#!/usr/bin/env python3
"""notebooks.py PROGRAM FOLDER [QUESTION...] - exports notebooks with the program and executes them.

Without questions all of them, those of experiments and my-network of a shipped profile; make notebooks
calls it. Needs nbformat, nbclient, ipykernel and the packages that the notebooks import. JOBS: how many
run at once (default 2).
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import nbclient
import nbformat

PROFILE = "../db/profiles/squeezenet-v1.0-a.csv"


def questions(program):
    """The names of all questions."""
    done = subprocess.run([program, "export", "--notebook", "list"], check=True, capture_output=True, text=True)
    return [line.split()[0] for line in done.stdout.splitlines()[1:]]


def export(program, folder, question):
    """The text of a notebook, as the program writes it into this folder."""
    words = [program, "export", "--notebook", question, "-o", "-"]
    if question == "my-network":
        words.insert(4, PROFILE)
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder).stdout


def execute(text, folder):
    """Executes a notebook, in a folder, and gives it with its outputs."""
    book = nbformat.reads(text, as_version=4)
    metadata = json.loads(json.dumps(book.metadata))
    client = nbclient.NotebookClient(book, timeout=600, record_timing=False, resources={"metadata": {"path": str(folder)}})
    client.execute()
    book.metadata = metadata
    for cell in book.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if output.output_type == "stream" and output.name == "stderr":
                raise ValueError(f"a cell says on standard error: {output.text}")
    return book


def write(book, path):
    """Writes a notebook in the form of the program: the lines of texts apart, keys sorted."""
    rows = json.loads(nbformat.writes(book))
    path.write_text(json.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def make(program, folder, question):
    write(execute(export(program, folder, question), folder), folder / f"{question}.ipynb")


def main(program, folder, *names):
    program, folder = str(pathlib.Path(program).resolve()), pathlib.Path(folder).resolve()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        made = {pool.submit(make, program, folder, name): name for name in names or questions(program)}
        for one in concurrent.futures.as_completed(made):
            error = one.exception()
            print(f"{made[one]}: {error or 'executed'}", flush=True)
            failed += error is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
