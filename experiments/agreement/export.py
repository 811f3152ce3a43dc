#!/usr/bin/env python3
"""Exports the networks of torch_files.py and keras_files.py as ONNX files.

  export.py torch|keras [--out DIR] [--list] [NAME...]

A file is called NETWORK-EXPORTER-OPSET-BATCH.onnx; BATCH is open or 1. Every file is made in a
process of its own; what is there is passed over, and what cannot be exported is told.
"""
import argparse
import importlib
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True


def files_of(networks, names):
    for name in names or networks:
        for file in networks[name][0]:
            made, *flags = file.split(",")
            exporter, opset = made.split("-")
            batch = "1" if "1" in flags else "open"
            yield f"{name}-{exporter}-{opset}-{batch}.onnx", name, exporter, int(opset), flags


def make(side, path, name, exporter, opset, flags):
    """One file, in a process of its own; None, or why not."""
    part = path.parent / "part" / path.name  # so that external data is named as the file
    part.parent.mkdir(exist_ok=True)
    command = [sys.executable, __file__, "--child", str(part), side, name, exporter, str(opset),
               ",".join(flags)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return said[-1][:300] if said else f"exit {done.returncode}"
    for piece in part.parent.iterdir():
        piece.rename(path.parent / piece.name)
    return None


def command_line():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=["torch", "keras"])
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks (default: all)")
    parser.add_argument("--out", type=pathlib.Path, default="build/agreement",
                        help="where the files go (default: build/agreement)")
    parser.add_argument("--list", action="store_true", help="print the names of the files")
    parser.add_argument("--child", metavar="FILE", help="make this one, here")
    return parser.parse_args()


def main():
    arguments = command_line()
    files = importlib.import_module(arguments.side + "_files")
    if arguments.child:
        name, exporter, opset, flags = (arguments.names + [""])[:4]
        files.export(name, exporter, int(opset), flags.split(","), arguments.child)
        return 0
    arguments.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for file, *what in files_of(files.NETWORKS, arguments.names):
        path = arguments.out / file
        if arguments.list:
            print(file)
        elif path.exists():
            print(f"{file}: is there", file=sys.stderr)
        else:
            why = make(arguments.side, path, *what)
            failed += why is not None
            print(f"{file}: {why or f'{path.stat().st_size / 2**20:.1f} MiB'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
