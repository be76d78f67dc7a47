# SPDX-License-Identifier: Apache-2.0
# Locations: in an unpacked bundle, or in the source tree with a build.
import os
import pathlib
import sys

PROGRAMS = ("graphc", "graphc-bench", "graphc-gpu-probe")


class Missing(Exception):
    """Something that gpu-check requires is missing."""


def has_mock(folder):
    """Whether this folder has the mock driver, which is built with the tests."""
    return (folder / "libcuda.so.1").exists()


class Places:
    """The programs, the mock libraries next to them, graphs to compare and the peers' scripts. A
    dry run takes the first build with the mock, otherwise the first build."""

    def __init__(self, here, programs=None, dry_run=False):
        self.scripts = here / "gpu_check"
        bundle = here / "bin"
        root = here.parent
        if programs:
            candidates = [pathlib.Path(programs).resolve()]
        elif bundle.is_dir():
            candidates = [bundle]
        else:
            candidates = [root / "build" / name / "bin" for name in ("bundle", "release", "dev")]
        found = [folder for folder in candidates if all((folder / p).exists() for p in PROGRAMS)]
        if not found:
            raise Missing(f"no {', '.join(PROGRAMS)} in {' or '.join(map(str, candidates))}")
        mocked = [folder for folder in found if has_mock(folder.parent / "mock")]
        self.programs = (mocked if dry_run and mocked else found)[0]
        self.mock = self.programs.parent / "mock"
        if (here / "graphs").is_dir():
            graphs = [here / "graphs"]
        else:
            graphs = [root / "tests" / "regressions", root / "tests" / "codegen"]
        self.graphs = sorted(path for folder in graphs for path in folder.glob("*.graph"))
        # NVRTC may be part of a bundle.
        self.cuda = here / "cuda"

    def program(self, name):
        return str(self.programs / name)


def package_folders():
    """The folders of CUDA's libraries in this Python's packages."""
    folders = []
    for entry in sys.path:
        for library in sorted(pathlib.Path(entry or ".").glob("nvidia/*/lib")):
            if any(library.glob("lib*.so*")):
                folders.append(str(library))
    return folders


def environment(places, dry_run, folder):
    """The environment of the programs: with the mock, or with the real libraries. Kernels are
    cached in the results folder."""
    variables = dict(os.environ)
    variables.setdefault("GRAPHC_CACHE", str(folder.resolve() / "kernels"))
    if dry_run:
        if not has_mock(places.mock):
            raise Missing(
                f"--dry-run needs the mock driver: no libcuda.so.1 in {places.mock}; tools/test "
                "builds one in build/dev/mock, beside the programs of build/dev/bin")
        variables["GRAPHC_CUDA_LIBRARIES"] = str(places.mock)
        variables["GRAPHC_CACHE"] = "none"
    return variables
