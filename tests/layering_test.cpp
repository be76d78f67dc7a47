// SPDX-License-Identifier: Apache-2.0
// The architecture, held: who may include whom, and where LLVM, CUDA and protobuf may appear.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/testing/source_tree.h"

namespace graphc::core::testing {
namespace {

using Names = std::set<std::string>;

// This table is the architecture. Each folder may include itself and what its row names.
const std::map<std::string, Names> may_include = {
    {"ir", {}},
    {"passes", {"ir"}},
    {"runtime", {"ir"}},
    {"codegen", {"ir", "passes", "runtime"}},
    {"frontend", {"ir", "passes", "runtime", "codegen"}},
    {"models", {"ir", "passes", "runtime", "codegen", "frontend"}},
    {"tools", {"ir", "passes", "runtime", "codegen", "frontend", "models"}},
    {"tests", {"ir", "passes", "runtime", "codegen", "frontend", "models", "tools"}},
};

// The floors of codegen/. A folder is a floor, and so is a file that is named here.
const std::map<std::string, Names> codegen_may_include = {
    {"nest", {}},
    {"step", {"nest"}},
    {"walk", {"nest", "step"}},
    {"machine", {"nest", "step"}},
    {"plan", {"nest", "step", "machine"}},
    {"lower", {"nest", "step", "machine", "plan"}},
    // Of a target, the header and source of its options, which are fields of CompileOptions.
    {"options", {}},
    // A compilation is for a target, and a target compiles: one floor.
    {"compile", {"options", "target"}},
    {"target", {"compile"}},
    {"within_memory", {"compile"}},
    {"cpu",
     {"nest", "step", "walk", "machine", "plan", "lower", "options", "compile", "target",
      "within_memory"}},
    {"cuda",
     {"nest", "step", "machine", "plan", "lower", "options", "compile", "target", "within_memory"}},
    {"reference", {"compile", "target"}},
    {"targets", {"compile", "target"}},
};

// The floors of a target's folder. Files that are not named here are the top, which may include all
// of them, and which no other floor may include.
const std::map<std::string, Names> target_may_include = {
    {"cpu/options", {}},
    {"cpu/cpu_features", {}},
    {"cpu/machine", {"cpu_features"}},
    {"cpu/jit", {"cpu_features"}},
    {"cpu/math", {"cpu_features", "jit"}},
    {"cpu/emit", {"cpu_features", "machine", "jit", "math"}},
    {"cuda/options", {}},
    {"cuda/text", {}},
    {"cuda/lower_layers", {}},
    {"cuda/machine", {"lower_layers"}},
    {"cuda/loops", {"options", "text", "machine"}},
    {"cuda/rows", {"options", "text", "machine", "loops"}},
    {"cuda/ranks", {"text"}},
    {"cuda/launch", {"text", "lower_layers", "loops", "ranks"}},
    {"cuda/libraries", {"options", "text", "lower_layers", "launch"}},
    {"cuda/launches",
     {"options", "text", "lower_layers", "machine", "loops", "rows", "ranks", "launch",
      "libraries"}},
};

// Other people's headers that stay in one place.
struct Confined {
  std::string name;
  std::regex header;
  std::function<bool(const std::string& path)> allowed;
};

const std::vector<Confined> confined = {
    {"LLVM", std::regex(R"((llvm|llvm-c)/.*)"),
     [](const std::string& path) {
       return path.starts_with("codegen/targets/cpu/") && path.ends_with(".cpp");
     }},
    {"CUDA", std::regex(R"((cuda|cudnn|cublas|nvrtc|nccl)[A-Za-z0-9_]*\.h)"),
     [](const std::string& path) { return path.find("/cuda/") != std::string::npos; }},
    // For all others there are targets, and what libraries were found.
    {"the CUDA loader's", std::regex(R"(runtime/cuda/(?!libraries\.h).*)"),
     [](const std::string& path) { return path.find("/cuda/") != std::string::npos; }},
    // What two targets need is in codegen/ itself; its options are a part of all targets'.
    {"the CPU target's", std::regex(R"(codegen/targets/cpu/(?!options\.h).*)"),
     [](const std::string& path) {
       return path.starts_with("codegen/targets/cpu/") || path.starts_with("tests/codegen/cpu/");
     }},
    // Builds with mutants give the definition to sources alone (cmake/graphc.cmake).
    {"mutants", std::regex(R"(ir/mutant\.h)"),
     [](const std::string& path) { return path.ends_with(".cpp"); }},
    {"MPI", std::regex(R"(mpi\.h)"),
     [](const std::string& path) { return path.starts_with("runtime/ranks/mpi/"); }},
    {"nanobind", std::regex(R"(nanobind/.*|Python\.h)"),
     [](const std::string& path) { return path.starts_with("frontend/python/src/"); }},
    {"protobuf", std::regex(R"(google/protobuf/.*|.*\.pb\.h)"),
     [](const std::string& path) {
       return path == "ir/serialize.cpp" || path.find("tools/tensorboard_test.cpp") != path.npos;
     }},
};

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

struct Include {
  std::string header;
  bool quoted;
};

std::optional<Include> include_of(const std::string& line) {
  static const std::regex directive(R"(\s*#\s*include\s*(["<])([^">]+)[">].*)");
  std::smatch match;
  if (!std::regex_match(line, match, directive)) return std::nullopt;
  return Include{match[2], match[1] == "\""};
}

/// "step" of "codegen/step/access.h", "machine" of "codegen/machine.h", "cpu" of
/// "codegen/targets/cpu/jit/jit.h", "options" of "codegen/targets/cuda/options.h".
std::string floor_of(const std::string& path) {
  static const std::regex options(R"(codegen/targets/(cpu|cuda)/options\.(h|cpp))");
  static const std::regex target(R"(codegen/targets/(\w+)/.*)");
  static const std::regex other(R"(codegen/(\w+)[/.].*)");
  std::smatch match;
  if (std::regex_match(path, options)) return "options";
  if (std::regex_match(path, match, target) || std::regex_match(path, match, other))
    return match[1];
  return "";
}

/// Of a file in a target's folder: "cpu/jit", "cpu/machine"; "" of others, and for the top.
std::string floor_of_target(const std::string& path) {
  static const std::regex pattern(R"(codegen/targets/(\w+/\w+)[/.].*)");
  std::smatch match;
  if (!std::regex_match(path, match, pattern)) return "";
  return target_may_include.contains(match[1]) ? match[1].str() : "";
}

bool floor_may_include(const std::string& path, const std::string& header) {
  const auto floor = codegen_may_include.find(floor_of(path));
  if (floor == codegen_may_include.end()) return false;
  const std::string to = floor_of(header);
  if (to != floor->first && !floor->second.contains(to)) return false;
  const std::string inside = floor_of_target(path);
  if (to != floor->first || inside.empty()) return true;
  const std::string below = floor_of_target(header);
  return below == inside ||
         (!below.empty() && target_may_include.at(inside).contains(below.substr(to.size() + 1)));
}

bool is_example(const std::string& path) { return path.starts_with("models/examples/"); }

/// What is wrong with the includes of a file, one sentence for each fault.
std::vector<std::string> layering_faults(const SourceFile& file) {
  std::vector<std::string> faults;
  const std::string folder = folder_of(file.path);
  for (const std::string& line : file.lines) {
    const auto include = include_of(line);
    if (!include) continue;
    const auto& [header, quoted] = *include;
    for (const Confined& library : confined) {
      if (std::regex_match(header, library.header) && !library.allowed(file.path)) {
        faults.push_back(file.path + ": " + library.name + " header out of its place: " + header);
      }
    }
    // <graphc/graphc.h> is frontend/graphc.h as users see it.
    const std::string from = header.starts_with("graphc/") ? "frontend" : folder_of(header);
    if (is_example(file.path)) {
      // Examples are installed as sources, beside each other and with no other header of models.
      if (quoted && header == "example.h") continue;
      if (from == "models") faults.push_back(file.path + ": not installed: " + header);
    }
    if (!may_include.contains(from)) {
      if (quoted) faults.push_back(file.path + ": not a path from the repository root: " + header);
      continue;
    }
    if (from != folder && !may_include.at(folder).contains(from)) {
      faults.push_back(file.path + ": " + folder + " may not include " + header);
    }
    if (folder == "codegen" && from == folder && !floor_may_include(file.path, header))
      faults.push_back(file.path + ": its floor may not include " + header);
  }
  return faults;
}

/// The folders named after DEPENDS in a folder's CMakeLists.txt.
Names link_dependencies(const SourceFile& file) {
  static const std::regex word(R"([^\s()]+|\))");
  Names names;
  bool inside = false;
  for (const std::string& line : file.lines) {
    const std::string code = line.substr(0, line.find('#'));
    for (std::sregex_iterator at(code.begin(), code.end(), word), end; at != end; ++at) {
      const std::string text = at->str();
      if (text == "DEPENDS") {
        inside = true;
      } else if (text == ")" || text == "SOURCES") {
        inside = false;
      } else if (inside) {
        names.insert(text);
      }
    }
  }
  return names;
}

TEST(Layering, EveryIncludeIsAllowed) {
  int checked = 0;
  for (const SourceFile& file : source_files()) {
    if (!file.is_cpp() || !may_include.contains(folder_of(file.path))) continue;
    ++checked;
    for (const std::string& fault : layering_faults(file)) ADD_FAILURE() << fault;
  }
  EXPECT_GE(checked, 10);
}

TEST(Layering, LibrariesLinkOnlyWhatTheirFolderMayInclude) {
  for (const auto& [folder, allowed] : may_include) {
    if (folder == "tests") continue;
    for (const std::string& name :
         link_dependencies(read_source_file(folder + "/CMakeLists.txt"))) {
      // A floor that is a library of its own.
      if (folder == "codegen" && codegen_may_include.contains(name)) continue;
      EXPECT_TRUE(allowed.contains(name)) << folder << "/CMakeLists.txt: DEPENDS " << name;
    }
  }
}

TEST(Layering, FaultsAreFound) {
  struct Case {
    const char* path;
    const char* text;
    size_t faults;
  };
  const Case cases[] = {
      {"ir/a.cpp", "#include \"ir/type.h\"\n#include <vector>\n", 0},
      {"ir/a.cpp", "#include \"passes/pass.h\"\n", 1},
      {"ir/a.cpp", "#include \"type.h\"\n", 1},
      {"models/examples/a.cpp", "#include \"example.h\"\n#include \"frontend/graphc.h\"\n", 0},
      {"models/examples/a.cpp", "#include \"models/examples/example.h\"\n", 1},
      {"passes/a.cpp", "#include \"runtime/tensor.h\"\n", 1},
      {"runtime/a.cpp", "#include \"passes/pass.h\"\n#include \"codegen/compile.h\"\n", 2},
      {"codegen/targets/cpu/jit/jit.cpp", "#include <llvm/IR/IRBuilder.h>\n", 0},
      {"codegen/targets/cpu/jit/jit.h", "#include <llvm/IR/IRBuilder.h>\n", 1},
      {"codegen/compile.cpp", "#include \"llvm/IR/IRBuilder.h\"\n", 2},
      {"codegen/compile.cpp", "#include \"codegen/targets/cpu/target.h\"\n", 2},
      {"codegen/step/order.cpp", "#include \"codegen/nest/program.h\"\n", 0},
      {"codegen/step/order.cpp", "#include \"codegen/plan/memory.h\"\n", 1},
      {"codegen/step/order.cpp", "#include \"codegen/machine.h\"\n", 1},
      {"codegen/targets/cuda/machine.cpp", "#include \"codegen/lower/context.h\"\n", 0},
      {"codegen/compile.h", "#include \"codegen/targets/cpu/options.h\"\n", 0},
      {"codegen/targets/cuda/options.cpp", "#include \"codegen/targets/cuda/options.h\"\n", 0},
      {"codegen/targets/cuda/options.h", "#include \"codegen/targets/cuda/machine.h\"\n", 1},
      {"codegen/lower/lower.cpp", "#include \"codegen/targets/cuda/options.h\"\n", 1},
      {"codegen/new_floor/a.cpp", "#include \"codegen/step/order.h\"\n", 1},
      {"codegen/walk/walker.cpp", "#include \"codegen/step/plan_walk.h\"\n", 0},
      {"codegen/walk/walker.cpp", "#include \"codegen/plan/schedule.h\"\n", 1},
      {"codegen/targets/cuda/code.cpp", "#include \"codegen/walk/walker.h\"\n", 1},
      {"codegen/targets/cpu/emit/a.cpp", "#include \"codegen/targets/cpu/jit/jit.h\"\n", 0},
      {"codegen/targets/cpu/jit/jit.cpp", "#include \"codegen/targets/cpu/emit/a.h\"\n", 1},
      {"codegen/targets/cpu/jit/jit.cpp", "#include \"codegen/targets/cpu/target.h\"\n", 1},
      {"codegen/targets/cpu/target.cpp", "#include \"codegen/targets/cpu/jit/jit.h\"\n", 0},
      {"tests/codegen/interpreter/nest.cpp", "#include \"codegen/targets/cpu/jit/jit.h\"\n", 1},
      {"runtime/cuda/driver.cpp", "#include <cuda.h>\n", 0},
      {"runtime/tensor.cpp", "#include <cuda_runtime.h>\n#include <cudnn_v9.h>\n", 2},
      {"codegen/targets/cuda/launches/a.cpp", "#include \"runtime/cuda/driver.h\"\n", 0},
      {"codegen/compile.cpp", "#include \"runtime/cuda/driver.h\"\n", 1},
      {"runtime/arena.cpp", "#include \"runtime/cuda/device.h\"\n", 1},
      {"tools/a.cpp", "#include \"runtime/cuda/libraries.h\"\n", 0},
      {"tests/cuda/mock/device.cpp", "#include \"runtime/cuda/driver_types.h\"\n", 0},
      {"ir/serialize.cpp", "#include \"ir/graph.pb.h\"\n", 0},
      {"ir/print.cpp", "#include \"ir/graph.pb.h\"\n#include <google/protobuf/arena.h>\n", 2},
      {"frontend/python/src/a.h", "#include <nanobind/nanobind.h>\n", 0},
      {"frontend/session.h", "#include <nanobind/nanobind.h>\n#include <Python.h>\n", 2},
      {"models/a.cpp", "#include <graphc/graphc.h>\n", 0},
      {"codegen/a.cpp", "#include <graphc/graphc.h>\n", 1},
      {"tools/a.cpp", "  #  include \"tests/testing/source_tree.h\"\n", 1},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(layering_faults(source_file(c.path, c.text)).size(), c.faults) << c.path << c.text;
  }
}

TEST(Layering, LinkDependenciesAreRead) {
  const auto file = source_file("passes/CMakeLists.txt",
                                "graphc_library(passes\n  DEPENDS\n    ir  # the language\n"
                                "  SOURCES\n    cse.cpp)\ngraphc_library(b DEPENDS runtime)\n");
  EXPECT_EQ(link_dependencies(file), (Names{"ir", "runtime"}));
}

}  // namespace
}  // namespace graphc::core::testing
