#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Checks without a build that the Python package has the words of C++: every name of
# frontend/vocabulary.h is bound, or listed here with the reason; and that its sources are Python.
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "frontend/python"

#: What C++ needs to say and Python does not.
OTHERWISE = {
    "assign": "State.value",
    "at": "x[i]",
    "BestCheckpointOptions": "arguments of BestCheckpoint",
    "ColumnKind": "names",
    "CompileOptions": "options of Session",
    "Condition": "a Value of bools",
    "CpuOptions": "options of Session",
    "CudaOptions": "options of Session",
    "Data": "arrays and numbers",
    "DeviceOutputs": "Outputs of DeviceArray",
    "DeviceTensor": "DeviceArray",
    "Dim": "numbers and names",
    "DropoutShare": "rate=, keep=",
    "EarlyStoppingOptions": "arguments of EarlyStopping",
    "Elements": "NumPy arrays",
    "ErrorKind": "classes of exceptions",
    "Extents": "dict",
    "Figures": "dict",
    "FitOptions": "arguments of fit",
    "LayerOptions": "options of layers",
    "Literal": "NumPy arrays",
    "Loading": "names",
    "LoadReport": "dict",
    "Missing": "names",
    "Mode": "names",
    "NamedData": "dict",
    "npy": "numpy.load",
    "Numeral": "int and float",
    "Operand": "values and numbers",
    "ParamGroup": "(parameters, optimizer)",
    "PlateauOptions": "arguments of Plateau",
    "Precision": "names",
    "precision_named": "names",
    "print": "print() and Model.trace",
    "Results": "what a function returns",
    "RoundUp": "numbers and functions",
    "SampleBatches": "list",
    "Saving": "everything=",
    "ScanOptions": "lengths=, reverse=, save_every=",
    "SessionOptions": "options of Session",
    "Shape": "tuple",
    "slice": "x[a:b]",
    "StateOptions": "transient=",
    "Steps": "int",
    "summarize": "Model.summary",
    "Summary": "Model.summary",
    "TableOptions": "arguments of read_table",
    "Tensor": "NumPy arrays",
    "to_host": "DeviceArray.numpy()",
    "to_multiple_of": "a number in round_up=",
    "to_one_of": "a function in round_up=",
    "to_power_of_two": "a function in round_up=",
    "TracedGraph": "Model.trace",
    "TraceFile": "trace= of Session",
    "Values": "list",
    "Where": "Error.file and .line",
}
#: Parts of the C++ frontend that Python does not have, as docs/python.md says.
ABSENT = """
    parse_graph Ranks PlotLine PlotNumbers PlotPanel ProgressAt PytorchState read_safetensors
    Safetensors write_safetensors BlockState GatedDelta HeadOptions MinGru Mlstm RecurrentBlock
    RgLru Rwkv7 SelectiveScan SelectiveScanOptions Slstm gated_delta min_gru mlstm rg_lru rwkv7
    selective_scan slstm
""".split()


#: `module.def("tanh"`, `nb::class_<Lstm> lstm(module, "Lstm"`, `add("sum"`.
BOUND = r'(?:module,|\bdef\(|\badd\w*(?:<\w+>)?\(\s*(?:module, )?)\s*"(\w+)"'


def bound_names():
    names = set()
    for source in (PACKAGE / "src").glob("*.cpp"):
        text = source.read_text(encoding="utf-8")
        names.update(re.findall(BOUND, text))
        names.update(re.findall(r'\{"(\w+)", &core::', text))
    for source in (PACKAGE / "graphc").glob("*.py"):
        tree = ast.parse(source.read_text(encoding="utf-8"), str(source))
        names.update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
        names.update(target.id for node in tree.body if isinstance(node, ast.Assign)
                     for target in node.targets if isinstance(target, ast.Name))
    return names


def main():
    text = (ROOT / "frontend/vocabulary.h").read_text(encoding="utf-8")
    words = {word.split("::")[-1] for word in re.findall(r"^using core::([\w:]+);", text, re.M)}
    bound, excused = bound_names(), set(OTHERWISE) | set(ABSENT)
    faults = [f"not in Python, and no reason is given: {name}"
              for name in sorted(words - bound - excused)]
    faults += [f"in Python, and excused: {name}" for name in sorted(bound & set(ABSENT))]
    for source in ROOT.glob("tests/frontend/python/*.py"):
        ast.parse(source.read_text(encoding="utf-8"), str(source))
    print("\n".join(faults) or f"{len(words & bound)} of {len(words)} names")
    return bool(faults) or len(words & bound) < 100


if __name__ == "__main__":
    sys.exit(main())
