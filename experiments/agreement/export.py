#!/usr/bin/env python3
"""Exports the networks of torchvision_files.py, timm_files.py, module_files.py and keras_files.py.

  export.py module|torchvision|timm|keras [--out DIR] [--list] [NAME...]

A file is called NETWORK-EXPORTER-OPSET-BATCH.onnx; BATCH is open or 1. Every file is made in a
process of its own; what is there is passed over, and what cannot be exported is told.
"""
import argparse
import importlib
import os
import pathlib
import sys
import tempfile
import traceback

sys.dont_write_bytecode = True


def files_of(networks, names):
    for name in names or networks:
        for file in networks[name][0]:
            made, *flags = file.split(",")
            exporter, opset = made.split("-")
            batch = "1" if "1" in flags else "open"
            yield f"{name}-{exporter}-{opset}-{batch}.onnx", name, exporter, int(opset), flags


def make(files, path, name, exporter, opset, flags):
    """One file, in a process of its own; None, or why not."""
    part = path.parent / "part" / path.name  # so that external data is named as the file
    part.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryFile("w+") as said:
        child = os.fork()
        if child == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            try:
                files.export(name, exporter, opset, flags, str(part))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            os._exit(1)
        status = os.waitpid(child, 0)[1]
        if status:
            said.seek(0)
            lines = [line for line in said.read().splitlines() if line.strip()]
            return lines[-1][:300] if lines else f"exit {status}"
    for piece in part.parent.iterdir():
        piece.rename(path.parent / piece.name)
    return None


def command_line():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=["module", "torchvision", "timm", "keras"])
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks (default: all)")
    parser.add_argument("--out", type=pathlib.Path, default="build/agreement",
                        help="where the files go (default: build/agreement)")
    parser.add_argument("--list", action="store_true", help="print the names of the files")
    return parser.parse_args()


def main():
    arguments = command_line()
    files = importlib.import_module(arguments.side + "_files")
    arguments.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for file, *what in files_of(files.NETWORKS, arguments.names):
        path = arguments.out / file
        if arguments.list:
            print(file)
        elif path.exists():
            print(f"{file}: is there", file=sys.stderr)
        else:
            why = make(files, path, *what)
            failed += why is not None
            print(f"{file}: {why or f'{path.stat().st_size / 2**20:.1f} MiB'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
