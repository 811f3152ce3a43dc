"""Builds the extension vbslab._native, which contains the library; build_native.py says how."""

import os
import sys

from setuptools import setup

os.chdir(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.getcwd())

import build_native  # noqa: E402

library = build_native.find_library()
setup(
    version=library.version,
    ext_modules=[build_native.extension(library)],
    cmdclass={"build_ext": build_native.BuildNative},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
