# SPDX-License-Identifier: Apache-2.0
# Reads and validates graphc-bench's output: profiles, bandwidths, and the resulting roofs.
"""Any fault of a file is Unusable, in a line that names the file."""
import collections
import json
import math
import pathlib

Kernel = collections.namedtuple("Kernel", "name where seconds flop bytes")
Profile = collections.namedtuple("Profile", "path title call cpu threads precision peak kernels")
Bandwidths = collections.namedtuple("Bandwidths", "path threads memory cache")
Roofs = collections.namedtuple("Roofs", "peak memory cache")


class Unusable(Exception):
    """Something that cannot be drawn, and why."""


def content(path):
    """The JSON of a file, an object. Raises Unusable."""
    try:
        found = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Unusable(f"'{path}': {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise Unusable(f"'{path}': not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Unusable(f"'{path}': wanted what graphc-bench writes: found no JSON object")
    return found


def field(path, where, found, name, kind, default=None):
    """A value of this kind in an object. Raises Unusable."""
    value = found.get(name, default) if isinstance(found, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Unusable(f"'{path}': {where}: wanted '{name}'")
    return value


def number(path, where, found, name, least):
    """A number that is at least `least`, or positive if that is None. Raises Unusable."""
    value = field(path, where, found, name, (int, float))
    try:
        value = float(value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value) or value < 0 or (least is None and value == 0):
        wanted = "above 0" if least is None else f"from {least}"
        raise Unusable(f"'{path}': {where}: wanted '{name}' {wanted}: found {value:g}")
    return value


def kernel_of(path, where, found):
    """A kernel of a profile. Raises Unusable."""
    name = field(path, where, found, "name", str)
    name = f"{field(path, where, found, 'kind', str)} %{name}"
    where = f"{where}: {name}"
    line = f"{found['file']}:{found['line']}" if "file" in found and "line" in found else ""
    kernel = Kernel(
        name,
        line,
        number(path, where, found, "seconds", None),
        number(path, where, found, "flop", 0),
        number(path, where, found, "bytes", 0),
    )
    if kernel.flop > 0 and kernel.bytes == 0:
        raise Unusable(f"'{path}': {where}: products without bytes")
    if kernel.flop > 0:
        for value in (kernel.flop / kernel.bytes, kernel.flop / kernel.seconds * 1e-9):
            if not 1e-12 < value < 1e12:
                raise Unusable(f"'{path}': {where}: {value:g} GFLOP/s or FLOP a byte")
    return kernel


def profile_of(path, where, found, cpu):
    """One profile of a file. Raises Unusable."""
    call = field(path, where, found, "call", str)
    parameters = field(path, where, found, "parameters", dict, {})
    words = [field(path, where, found, "workload", str)]
    words += [f"{name}={value}" for name, value in parameters.items()]
    words += [f"--variant={field(path, where, found, 'variant', str, 'fused')}"]
    unroll = field(path, where, found, "unroll", str, "auto")
    words += [] if unroll == "auto" else [f"--unroll={unroll}"]
    kernels = [
        kernel_of(path, f"{where}, kernel {index + 1}", each)
        for index, each in enumerate(field(path, where, found, "kernels", list))
    ]
    if not kernels:
        raise Unusable(f"'{path}': {where}: no kernels")
    return Profile(
        path=path,
        title=f"{call}: {' '.join(words)}",
        call=call,
        cpu=cpu,
        threads=field(path, where, found, "threads", int),
        precision=field(path, where, found, "precision", str),
        peak=number(path, where, found, "peak_gflops", None) if "peak_gflops" in found else None,
        kernels=kernels,
    )


def read_profiles(path):
    """The output of `graphc-bench MODEL --profile --json`. Raises Unusable."""
    found = content(path)
    environment = found.get("environment")
    cpu = environment.get("cpu", "") if isinstance(environment, dict) else ""
    listed = field(path, "not what --profile --json writes", found, "profiles", list)
    if not listed:
        raise Unusable(f"'{path}': no profiles")
    return [
        profile_of(path, f"profile {index + 1}", each, str(cpu))
        for index, each in enumerate(listed)
    ]


def read_bandwidths(path):
    """The output of `graphc-bench --bandwidth --json`. Raises Unusable."""
    found = content(path)
    speeds = {}
    listed = field(path, "not what --bandwidth --json writes", found, "bandwidth", list)
    for index, each in enumerate(listed):
        where = f"bandwidth {index + 1}"
        source = field(path, where, each, "from", str)
        speeds[source] = number(path, where, each, "gb_per_s", None)
    if "memory" not in speeds:
        raise Unusable(f"'{path}': no bandwidth from 'memory'")
    threads = field(path, "bandwidths", found, "threads", int)
    return Bandwidths(path, threads, speeds["memory"], speeds.get("shared cache"))


def roofs_of(profiles, measured, options):
    """The common limits of all profiles. Raises Unusable."""
    threads = {each.threads for each in profiles}
    if len(threads) > 1:
        raise Unusable(f"profiles on {' and '.join(map(str, sorted(threads)))} threads have other"
                       " roofs: draw them apart")
    if measured is not None and measured.threads not in threads:
        raise Unusable(
            f"'{measured.path}': read by {measured.threads} threads, where '{profiles[0].path}' is"
            f" of {profiles[0].threads}"
        )
    peak = options.peak
    if peak is None:
        precisions = sorted({each.precision for each in profiles})
        if len(precisions) > 1:
            raise Unusable(f"profiles in {' and '.join(precisions)} have other peaks: draw them"
                           " apart, or give --peak")
        peaks = [each.peak for each in profiles if each.peak is not None]
        if not peaks:
            raise Unusable(f"'{profiles[0].path}': no 'peak_gflops': give --peak")
        peak = max(peaks)
    memory = options.memory if options.memory is not None else measured.memory
    cache = options.cache if options.cache is not None else measured and measured.cache
    return Roofs(peak, memory, cache)
