"""Makes the C source of the extension vbslab._native from the public headers of the library.

Nothing is declared by hand: the preprocessor expands vbslab.h, and what comes from the headers of
vbslab becomes the declarations of cffi. The extension is linked with the static library, so that it
needs no other file of vbslab when it runs.

The library is that of the checkout in which this file lies (which `make` built), else the installed
one that pkg-config finds. BUILD names the folder of the checkout's build; the default is ../build.
"""

import copy
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys

import cffi
from setuptools import Extension
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
CC = shlex.split(os.environ.get("CC", "cc"))


@dataclasses.dataclass
class Library:
    """What the compiler and the linker need to know."""

    include: pathlib.Path
    archive: pathlib.Path
    libraries: list  # the linker's options for the libraries that vbslab is built on
    version: str


def fail(text):
    sys.exit(f"vbslab: {text}")


def output(command, **environment):
    try:
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    except OSError as error:
        fail(f"cannot run {command[0]}: {error.strerror}")
    if done.returncode != 0:
        fail(f"'{shlex.join(map(str, command))}' failed: {done.stderr.strip()}")
    return done.stdout


def header_version(include):
    text = (include / "vbslab" / "status.h").read_text()
    return re.search(r'#define VBS_VERSION_STRING "(.*)"', text)[1]


def check_archive(archive, include):
    """Refuses an archive that is older than a header: the two may not fit together."""
    newest = max((include / "vbslab").glob("*.h"), key=lambda header: header.stat().st_mtime)
    if newest.stat().st_mtime > archive.stat().st_mtime:
        fail(f"{archive} is older than {newest}; run 'make' first")


def find_library():
    checkout = HERE.parent
    if (checkout / "include" / "vbslab" / "status.h").exists() and (checkout / "Makefile").exists():
        build = checkout / os.environ.get("BUILD", "build")
        archive, include = build / "libvbslab.a", checkout / "include"
        if not archive.exists() or not (build / "vbslab.pc").exists():
            fail(f"there is no {archive}; run 'make' in {checkout} first")
        check_archive(archive, include)
        found = {"PKG_CONFIG_PATH": f"{build}:{os.environ.get('PKG_CONFIG_PATH', '')}"}
    else:
        found = {}
        if subprocess.run(["pkg-config", "--exists", "vbslab"], capture_output=True).returncode != 0:
            fail(
                "pkg-config finds no vbslab; install the library with 'make install PREFIX=DIR' and "
                "set PKG_CONFIG_PATH=DIR/lib/pkgconfig, or use a checkout in which 'make' was run"
            )
        include = pathlib.Path(output(["pkg-config", "--variable=includedir", "vbslab"]).strip())
        archive = pathlib.Path(output(["pkg-config", "--variable=libdir", "vbslab"]).strip()) / "libvbslab.a"
        if not archive.exists():
            fail(f"there is no {archive}; 'make install' of vbslab puts it there")
    version = output(["pkg-config", "--modversion", "vbslab"], **found).strip()
    if version != header_version(include):
        fail(f"the library is of version {version}, the headers in {include} of {header_version(include)}")
    flags = shlex.split(output(["pkg-config", "--libs", "--static", "vbslab"], **found))
    return Library(include, archive, [flag for flag in flags if flag != "-lvbslab"], version)


# ---- declarations ----


def preprocess(include, *options):
    # Without __GNUC__ the headers have no attributes, which cffi cannot read.
    return output([*CC, "-std=c11", "-U__GNUC__", "-E", *options, f"-I{include}", str(include / "vbslab" / "vbslab.h")])


def own_text(include):
    """The text of the expanded headers that comes from vbslab, without that of the system."""
    lines, own = [], False
    for line in preprocess(include).splitlines():
        marker = re.match(r'# \d+ "(.*)"', line)
        if marker:
            own = marker[1].startswith(f"{include}/vbslab/")
        elif own and line.strip():
            lines.append(line)
    return "\n".join(lines)


def constants(include):
    """The macros of the headers whose value is a whole number or a text."""
    found = re.findall(r"^#define (VBS_\w+) (.+)$", preprocess(include, "-dM"), re.MULTILINE)
    for name, value in sorted(found):
        if re.fullmatch(r"\(?\s*-?(\(size_t\)|\(int64_t\))?\s*\d+[uUlL]*\s*(<<\s*\d+)?\s*\)?|INT\d+_MAX", value):
            yield f"#define {name} ..."
        elif re.fullmatch(r'"[^"]*"', value):
            yield f"static char *const {name};"


# What the package needs beside the library: memory that the library gave is freed by free(), and the
# functions that begin with vbspy_ are those of interrupt.h and the callbacks in Python.
OWN_DECLARATIONS = """
void free(void *);
static void vbspy_watch(volatile sig_atomic_t *cancel);
static int vbspy_unwatch(void);
extern "Python" void vbspy_progress(void *self, double done, double left_s, const char *text);
extern "Python" int vbspy_rank(void *self, const struct vbs_provenance *provenance);
"""


def declarations(include):
    text = own_text(include)
    return "\n".join(["typedef int... sig_atomic_t;", *constants(include), text, OWN_DECLARATIONS])


def extension(library):
    return Extension(
        "vbslab._native",
        [],  # BuildNative writes the source
        include_dirs=[str(library.include), str(HERE)],
        define_macros=[("Py_LIMITED_API", "0x03090000")],
        py_limited_api=True,
        extra_objects=[str(library.archive)],
        extra_compile_args=["-O1", "-g0"],
        # The library's names stay inside, so that another copy of it in the process does no harm.
        extra_link_args=[*library.libraries, "-Wl,--exclude-libs,ALL", "-Wl,--strip-debug"],
        depends=[str(library.archive), str(HERE / "interrupt.h")],
    )


class BuildNative(build_ext):
    """Writes the C source and compiles it, both in the folder of temporary files."""

    def build_extension(self, ext):
        source = pathlib.Path(self.build_temp) / "_native.c"
        source.parent.mkdir(parents=True, exist_ok=True)
        builder = cffi.FFI()
        builder.cdef(declarations(pathlib.Path(ext.include_dirs[0])))
        builder.set_source(
            "vbslab._native", '#include <stdlib.h>\n#include <vbslab/vbslab.h>\n#include "interrupt.h"\n'
        )
        builder.emit_c_code(str(source))
        made = copy.copy(ext)
        made.sources = [str(source)]
        super().build_extension(made)
