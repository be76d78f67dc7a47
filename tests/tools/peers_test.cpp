// SPDX-License-Identifier: Apache-2.0
// tools/peers without its peers: the command line, graphc's side of a comparison, the table; and
// all of it with a peer whose answers are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/files/files.h"
#include "tests/testing/source_tree.h"
#include "tests/testing/temporary_folder.h"
#include "tests/tools/shell.h"

namespace graphc::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using Json = nlohmann::json;

/// tools/peers in `folder`, with the programs of this build. Leaks are looked for elsewhere.
Ran peers(const TemporaryFolder& folder, const std::string& arguments,
          const std::string& before = "") {
  const std::string bin = std::filesystem::path(GRAPHC_TOOL).parent_path().string();
  return run_bash(
      fmt::format("export ASAN_OPTIONS=detect_leaks=0:malloc_context_size=0:$ASAN_OPTIONS\n{}\n"
                  "'{}' --programs='{}' {}",
                  before, source_path("tools/peers"), bin, arguments),
      folder);
}

/// Python with the modules of tools/references.
Ran python(const TemporaryFolder& folder, const std::string& script) {
  folder.add("script.py", script);
  return run_bash(
      fmt::format("export ASAN_OPTIONS=detect_leaks=0:malloc_context_size=0:$ASAN_OPTIONS\n"
                  "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='{}' python3 script.py",
                  source_path("tools/references")),
      folder);
}

TEST(Peers, HelpAndListSayWhatThereIs) {
  const TemporaryFolder folder;
  const Ran help = peers(folder, "--help");
  EXPECT_EQ(help.code, 0) << help.err;
  for (const char* option :
       {"--with", "--precision", "--threads", "--rounds", "--calls", "--quick", "--check-only",
        "--dry-run", "--no-install", "--venv", "--programs", "--json", "--table"})
    EXPECT_THAT(help.out, HasSubstr(option));
  const Ran list = peers(folder, "--list");
  EXPECT_EQ(list.code, 0) << list.err;
  for (const char* pinned :
       {"torch: torch==", "jax: jax==", "tensorflow: tensorflow==", "onnxruntime: onnxruntime==",
        "\n  train: no training\n", "\n  cell-layer, f32: eager; compiled step\n"})
    EXPECT_THAT(list.out, HasSubstr(pinned));
}

TEST(Peers, RefuseWhatTheyDoNotKnow) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"transformer", "no model is called 'transformer': there are lstm-layer, ptb-lm, cell-layer"},
      {"lstm-layer hiden=3", "no parameter 'hiden' here: there are hidden, steps, batch"},
      {"lstm-layer hidden=512,0", "hidden: wanted a whole number above 0: found '0'"},
      {"lstm-layer hidden", "wanted NAME=VALUE,...: found 'hidden'"},
      {"ptb-lm size=large", "without dropout"},
      {"cell-layer cell=gated-delta,lstm",
       "cell: wanted one of gated-delta, selective-scan, mlstm, slstm, rwkv7, rg-lru, min-gru, "
       "attention-decoder: found 'lstm'"},
      {"cell-layer size=huge", "size: wanted one of small, medium, long, test: found 'huge'"},
      {"cell-layer cell=rg-lru key=64",
       "cell-layer cell=rg-lru has no parameter 'key': there are cell, size, steps, batch, hidden"},
      {"cell-layer cell=slstm heads=4,5", "heads: wanted a divisor of the 512 units: found 5"},
      {"cell-layer cell=mlstm value=0", "value: wanted a whole number above 0: found '0'"},
      {"--with=torch,abacus",
       "--with: wanted some of torch, jax, tensorflow, onnxruntime: found "
       "'abacus'"},
      {"--precision=f16", "--precision: wanted some of f32, bf16: found 'f16'"},
      {"--threads=0", "--threads: wanted 1 to "},
      {"--rounds=0", "--rounds: wanted a number above 0: found 0"},
      {"--abacus", "unrecognized arguments: --abacus"},
  };
  for (const auto& [arguments, message] : wrong) {
    const Ran ran = peers(folder, arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(ran.out, "") << arguments;
  }
  const Ran ran = peers(folder, "--programs=. lstm-layer");
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("no graphc and graphc-bench in "));
}

/// What tools/peers recorded of three workloads, in which everything is that a cell can say.
constexpr const char* kRecorded = R"({"schema": "graphc-peers/1", "date": "2026-11-23",
 "rounds": 3, "calls": 5,
 "environment": {"cpu": "a CPU", "cores": 2, "threads": 2, "load": [0.5, 1.25]},
 "workloads": [
  {"title": "lstm-layer hidden=512 steps=30 batch=128",
   "workload": {"model": "lstm-layer", "hidden": 512, "steps": 30, "batch": 128},
   "rows": [
    {"library": "graphc 0.1.0", "setting": "fused", "precision": "f32", "cells": {},
     "compile_s": 0.3, "train_ms": 1.5, "forward_ms": 0.5},
    {"library": "PyTorch", "peer": "torch", "version": "2.15.0", "setting": "eager",
     "precision": "f32", "cells": {}, "compile_s": 1, "train_ms": 3.0, "forward_ms": 0.75,
     "train_ratio": 2.0, "forward_ratio": 1.5},
    {"library": "ONNX Runtime", "peer": "onnxruntime", "version": "1.32.0",
     "setting": "LSTM node", "precision": "f32", "cells": {"train": "no training"},
     "forward_ms": 1.0, "forward_ratio": 2.0},
    {"library": "JAX", "peer": "jax", "setting": "jit", "precision": "f32", "train_ms": 7.0,
     "cells": {"all": "not installed: no space | left"}}]},
  {"title": "ptb-lm size=small",
   "workload": {"model": "ptb-lm", "size": "small", "hidden": 200, "layers": 2, "steps": 20,
                "batch": 20, "vocabulary": 10000},
   "rows": [
    {"library": "graphc 0.1.0", "setting": "fused", "precision": "f32", "cells": {},
     "compile_s": 0.3, "train_ms": 2.0, "forward_ms": 0.5},
    {"library": "JAX", "peer": "jax", "setting": "jit", "precision": "f32", "train_ms": 7.0,
     "cells": {"all": "not timed: the loss differs by 0.5"}}]},
  {"title": "cell-layer cell=gated-delta size=small",
   "workload": {"model": "cell-layer", "cell": "gated-delta", "size": "small", "steps": 128,
                "batch": 1, "heads": 8, "key": 64, "value": 64},
   "rows": [
    {"library": "graphc 0.1.0", "setting": "fused", "precision": "f32", "cells": {},
     "compile_s": 0.3, "train_ms": 2.0, "forward_ms": 0.5},
    {"library": "JAX", "peer": "jax", "setting": "jit, scan", "precision": "f32", "cells": {},
     "compile_s": 0.5, "train_ms": 7.0, "forward_ms": 2.0, "train_ratio": 3.5,
     "forward_ratio": 4.0}]}]})";

constexpr const char* kTable =
    R"(a CPU, 2 threads of 2 cores, 2026-11-23, load 0.50 to 1.25; 3 rounds of 5 calls

lstm-layer hidden=512 steps=30 batch=128: 314.6 MFLOP to train, 125.8 forward, an example

| Library | Setting | Compile (s) | Train (ms/example) | )"
    R"(Forward only (ms/example) | Times graphc's |
| --- | --- | ---: | ---: | ---: | ---: |
| graphc 0.1.0 | fused f32 | 0.300 | 1.5000 | 0.5000 | - |
| PyTorch 2.15.0 | eager f32 | 1.000 | 3.0000 | 0.7500 | 2.00 / 1.50 |
| ONNX Runtime 1.32.0 | LSTM node f32 | - | no training | 1.0000 | - / 2.00 |
| JAX | jit f32 | not installed: no space / left | - | - | - |

ptb-lm size=small: 316.8 MFLOP to train, 105.6 forward, an example

| Library | Setting | Compile (s) | Train (ms/example) | )"
    R"(Forward only (ms/example) | Train (words/s) | Times graphc's |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
| graphc 0.1.0 | fused f32 | 0.300 | 2.0000 | 0.5000 | 10,000 | - |
| JAX | jit f32 | not timed: the loss differs by 0.5 | - | - | - | - |

cell-layer cell=gated-delta size=small: 88.1 MFLOP to train, 29.4 forward, an example

| Library | Setting | Compile (s) | Train (ms/example) | )"
    R"(Forward only (ms/example) | Times graphc's |
| --- | --- | ---: | ---: | ---: | ---: |
| graphc 0.1.0 | fused f32 | 0.300 | 2.0000 | 0.5000 | - |
| JAX | jit, scan f32 | 0.500 | 7.0000 | 2.0000 | 3.50 / 4.00 |
)";

TEST(Peers, RecordedResultsAreATable) {
  const TemporaryFolder folder;
  folder.add("recorded.json", kRecorded);
  const Ran ran = peers(folder, "--table=recorded.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, kTable);
}

TEST(Peers, OtherFilesAreNoTable) {
  const TemporaryFolder folder;
  folder.add("other.json", R"({"results": []})");
  folder.add("part.json", R"({"schema": "graphc-peers/1", "date": "2026-11-23"})");
  folder.add("none.json", "nothing");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"other.json", "wanted results of the schema 'graphc-peers/1'"},
      {"part.json", "results that are not whole: KeyError('environment')"},
      {"none.json", "Expecting value"},
      {"missing.json", "No such file"}};
  for (const auto& [file, message] : wrong) {
    const Ran ran = peers(folder, "--table=" + file);
    EXPECT_EQ(ran.code, 3) << file;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("peers: '" + file + "': "), HasSubstr(message)));
    EXPECT_EQ(ran.out, "");
  }
}

TEST(Peers, GraphcsTimesAreReadFromItsBench) {
  const TemporaryFolder folder;
  const Ran ran = python(folder, R"(import pathlib, shutil
from graphc_side import Failed, Side, read_bench
from workloads import workload
side = Side(pathlib.Path(shutil.which("graphc")).parent, 1)
small = workload("lstm-layer", {"hidden": "4", "steps": "2", "batch": "2"})
for name, value in side.bench(small, "f32", 1).items():
    print(name, value > 0)
try:
    side.bench({"model": "abacus"}, "f32", 1)
except Failed as error:
    print("failed:", error)
for text in ("", "{}", '{"results": []}', '{"results": [{"compile_s": 1, "train_step_ms": 1}]}'):
    try:
        print(read_bench(text))
    except Failed as error:
        print("failed:", error)
)");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("compile_s True\ntrain True\nforward True\npeak_gflops True\n"));
  EXPECT_THAT(ran.out, MatchesRegex("[^:]*\nfailed: [^\n]*abacus[^\n]*\n"
                                    "(failed: graphc-bench wrote no record of one model: [^\n]*\n)"
                                    "(failed: graphc-bench wrote no [^\n]*\n)+"))
      << ran.out;
}

/// The inputs, states and parameters of every cell are those of graphc's graphs, at every size.
TEST(Peers, CellsHaveTheArraysOfGraphcs) {
  const TemporaryFolder folder;
  const Ran ran = python(folder, R"(import pathlib, re, shutil
import stream_cells
from graphc_side import Side, with_gradients
from workloads import gradient_names, workload
side = Side(pathlib.Path(shutil.which("graphc")).parent, 1)
for cell in stream_cells.CELLS:
    for size in ("small", "medium", "test"):
        ours = workload("cell-layer", {"cell": cell, "size": size})
        graph = side.graph({"model": "cell-layer", "cell": cell, "size": size}, "train")
        head = re.findall(r"%(\w+): f32\[([\d,]+)\]", graph.splitlines()[0])
        theirs = [(name, tuple(map(int, shape.split(",")))) for name, shape in head]
        arrays = stream_cells.inputs(ours) + stream_cells.parameters(ours)
        wanted = [(array.name, shape) for array, shape in arrays]
        if theirs != wanted:
            print(cell, size, theirs, wanted)
        text, results = with_gradients(graph)
        if text != graph or results[1:] != ["d." + name for name in gradient_names(ours)]:
            print(cell, size, results)
print("compared", len(stream_cells.CELLS))
)");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "compared 8\n");
}

/// A peer that answers as it is told to: its Python is this script, its packages are marked as
/// installed. It writes the arrays that graphc's step begins with, and knows no other work.
constexpr const char* kMadeUp = R"(mkdir -p env/{1}/bin
'{0}' --list | sed -n 's/^{1}: //p' | tr ' ' '\n' > env/{1}/peers.txt
cat > env/{1}/bin/python <<'END'
#!/usr/bin/env python3
import array, json, os, pathlib, sys
def write(folder, name, shape):
    head = str({{"descr": "<f4", "fortran_order": False, "shape": shape}})
    head = head + " " * (117 - len(head)) + "\n"
    count = 1
    for extent in shape:
        count *= extent
    folder.mkdir(parents=True, exist_ok=True)
    data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
    (folder / (name + ".npy")).write_bytes(data + array.array("f", [0.25] * count).tobytes())
def answer(ask):
    if ask["do"] == "draw" and ask["workload"]["model"] == "cell-layer":
        for name in ("z", "x"):
            write(pathlib.Path(ask["folder"]) / "batch", name, (2, 3, 4))
    elif ask["do"] == "draw":
        folder = pathlib.Path(ask["folder"])
        for name, shape in (("w", (4, 16)), ("u", (4, 16)), ("b", (16,))):
            write(folder / "start", name, shape)
        write(folder / "batch", "x", (2, 3, 4))
        write(folder / "batch", "y", (3, 4))
    if ask["do"] == "version":
        return {{"version": "9.9"}}
    if ask["do"] == "compare":
        written = sorted(each.stem for each in (pathlib.Path(ask["folder"]) / "f32").iterdir())
        print(*written, file=open("written.txt", "w"))
    if ask["do"] == "prepare":
        return {{"fault": os.environ.get("FAULT")}}
    return {{"ms": [3.0, 6.0, 9.0]}} if ask["do"] == "time" else {{}}
print('{{"ready": true}}', flush=True)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
END
chmod +x env/{1}/bin/python)";

constexpr const char* kSmall =
    "lstm-layer hidden=4 steps=2 batch=3 --with=onnxruntime --venv=env --threads=1 --rounds=1 "
    "--calls=1 --json=results.json --precision=f32";

std::string made_up_peer(const char* name = "onnxruntime") {
  return fmt::format(kMadeUp, source_path("tools/peers"), name);
}

TEST(Peers, AreComparedThenTimed) {
  const TemporaryFolder folder;
  const Ran ran = peers(folder, kSmall, made_up_peer());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(folder.path() / "written.txt"),
            "after.b after.u after.w gradient.b gradient.u gradient.w loss output\n");
  EXPECT_THAT(ran.out, HasSubstr("| ONNX Runtime 9.9 | LSTM node f32 | - | no training | 2.0000 | "
                                 "- / "));
  const Json results = Json::parse(read_file(folder.path() / "results.json"));
  const Json& rows = results.at("workloads").at(0).at("rows");
  EXPECT_GT(rows.at(0).at("train_ms").get<double>(), 0);
  EXPECT_EQ(rows.at(1).at("forward_turns"), Json({6.0}));
  EXPECT_EQ(peers(folder, "--table=results.json").out, ran.out);
}

TEST(Peers, ACellIsComparedByOutputLossAndGradients) {
  const TemporaryFolder folder;
  const Ran ran = peers(folder,
                        "cell-layer cell=min-gru hidden=4 steps=2 batch=3 --with=torch,onnxruntime "
                        "--venv=env --threads=1 --rounds=1 --calls=1",
                        made_up_peer("torch") + "\n" + made_up_peer());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(folder.path() / "written.txt"), "gradient.x gradient.z loss output\n");
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("cell-layer cell=min-gru size=small steps=2 batch=3 hidden=4: 0.0 MFLOP"),
            HasSubstr("| PyTorch 9.9 | eager f32 | - | 2.0000 | 2.0000 | "),
            HasSubstr("| PyTorch 9.9 | compiled step f32 | - | 2.0000 | 2.0000 | "),
            HasSubstr("| PyTorch | bf16 | no cell-layer in bf16 here | - | - | - |"),
            HasSubstr("| ONNX Runtime | f32 | no cell-layer here | - | - | - |")));
}

TEST(Peers, OneThatDoesOtherWorkIsNotTimed) {
  const TemporaryFolder folder;
  const Ran ran = peers(folder, kSmall, made_up_peer() + "\nexport FAULT='the loss differs by 1'");
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("| ONNX Runtime 9.9 | LSTM node f32 | not timed: the loss differs "
                                 "by 1 | - | - | - |\n"));
}

TEST(Peers, NothingIsInstalledWhereThatIsForbidden) {
  const TemporaryFolder folder;
  const Ran none = peers(folder, std::string(kSmall) + " --no-install");
  EXPECT_EQ(none.code, 5);
  EXPECT_THAT(none.err, AllOf(HasSubstr("peers: onnxruntime: not installed in "),
                              HasSubstr("tools/peers --quick --with=onnxruntime` installs ")));
  EXPECT_EQ(none.out, "");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "env"));
  const std::string both =
      "lstm-layer hidden=4 steps=2 batch=3 --with=onnxruntime,torch --venv=env --threads=1 "
      "--rounds=1 --calls=1 --precision=f32 --no-install";
  const Ran one = peers(folder, both, made_up_peer());
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, AllOf(HasSubstr("| PyTorch | eager f32 | not installed | - |"),
                             HasSubstr("| ONNX Runtime 9.9 | LSTM node f32 | - |")));
}

TEST(Peers, ADryRunNamesWhatWouldBeMeasured) {
  const TemporaryFolder folder;
  const Ran ran = peers(folder, "lstm-layer hidden=4,8 steps=2 --dry-run --venv=env");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "lstm-layer hidden=4 steps=2 batch=128\nlstm-layer hidden=8 steps=2 batch=128\n");
  const Ran cells = peers(folder,
                          "cell-layer cell=slstm,rwkv7,min-gru size=medium steps=4 key=5 --dry-run "
                          "--venv=env");
  EXPECT_EQ(cells.code, 2) << cells.out;
  EXPECT_EQ(peers(folder, "cell-layer cell=rwkv7 size=medium steps=4,8 key=5 --dry-run").out,
            "cell-layer cell=rwkv7 size=medium steps=4 batch=1 heads=32 key=5 value=128\n"
            "cell-layer cell=rwkv7 size=medium steps=8 batch=1 heads=32 key=5 value=128\n");
  // What graphc lists of a cell without heads, keys and memory.
  EXPECT_EQ(peers(folder, "cell-layer cell=min-gru heads=1 key=0 memory=0 --quick --dry-run").out,
            "cell-layer cell=min-gru size=small steps=37 batch=2 hidden=6\n");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "env"));
}

TEST(Peers, OneThatCannotBeInstalledSaysSoInItsCell) {
  const TemporaryFolder folder;
  const Ran ran = peers(folder, kSmall, "touch env");  // where a folder is wanted
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("| ONNX Runtime | LSTM node f32 | not installed: "),
                             HasSubstr("| fused f32 | "), Not(HasSubstr("no training"))));
}

}  // namespace
}  // namespace graphc::core::testing
