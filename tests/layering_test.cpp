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

// The floors of codegen/. A file of the folder itself belongs to the floor that it is named in.
const std::map<std::string, Names> codegen_may_include = {
    {"nest", {}},
    {"step", {"nest"}},
    {"machine", {"nest", "step"}},
    {"plan", {"nest", "step", "machine"}},
    {"lower", {"nest", "step", "machine", "plan"}},
    // Of a target, the header and source of its options, which are fields of CompileOptions.
    {"options", {}},
    // A compilation is for a target, and a target compiles: one floor.
    {"compile", {"options", "target"}},
    {"target", {"compile"}},
    {"cpu", {"nest", "step", "machine", "plan", "lower", "options", "compile", "target"}},
    {"cuda", {"nest", "step", "machine", "plan", "lower", "options", "compile", "target"}},
    {"reference", {"compile", "target"}},
    {"targets", {"compile", "target"}},
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
       return path.starts_with("codegen/cpu/") && path.ends_with(".cpp");
     }},
    {"CUDA", std::regex(R"((cuda|cudnn|cublas|nvrtc|nccl)[A-Za-z0-9_]*\.h)"),
     [](const std::string& path) { return path.find("/cuda/") != std::string::npos; }},
    // For all others there are targets, and what libraries were found.
    {"the CUDA loader's", std::regex(R"(runtime/cuda/(?!libraries\.h).*)"),
     [](const std::string& path) { return path.find("/cuda/") != std::string::npos; }},
    // What two targets need is in codegen/ itself; its options are a part of all targets'.
    {"the CPU target's", std::regex(R"(codegen/cpu/(?!options\.h).*)"),
     [](const std::string& path) {
       return path.starts_with("codegen/cpu/") || path.starts_with("tests/codegen/cpu/");
     }},
    // Builds with mutants give the definition to sources alone (cmake/graphc.cmake).
    {"mutants", std::regex(R"(ir/mutant\.h)"),
     [](const std::string& path) { return path.ends_with(".cpp"); }},
    {"protobuf", std::regex(R"(google/protobuf/.*|.*\.pb\.h)"),
     [](const std::string& path) {
       return path == "ir/serialize.cpp" || path.find("tools/tensorboard_test.cpp") != path.npos ||
              path == "frontend/tensorboard.cpp";
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

/// "step" of "codegen/step/access.h", "machine" of "codegen/machine.h", "options" of
/// "codegen/cuda/options.h".
std::string floor_of(const std::string& path) {
  const std::string inside = path.substr(std::string("codegen/").size());
  if (std::regex_match(inside, std::regex(R"((cpu|cuda)/options\.(h|cpp))"))) return "options";
  return inside.substr(0, inside.find_first_of("/."));
}

bool floor_may_include(const std::string& path, const std::string& header) {
  const auto floor = codegen_may_include.find(floor_of(path));
  if (floor == codegen_may_include.end()) return false;
  return floor_of(header) == floor->first || floor->second.contains(floor_of(header));
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
      {"codegen/cpu/jit.cpp", "#include <llvm/IR/IRBuilder.h>\n", 0},
      {"codegen/cpu/jit.h", "#include <llvm/IR/IRBuilder.h>\n", 1},
      {"codegen/compile.cpp", "#include \"llvm/IR/IRBuilder.h\"\n", 2},
      {"codegen/compile.cpp", "#include \"codegen/cpu/target.h\"\n", 2},
      {"codegen/step/order.cpp", "#include \"codegen/nest/program.h\"\n", 0},
      {"codegen/step/order.cpp", "#include \"codegen/plan/memory.h\"\n", 1},
      {"codegen/step/order.cpp", "#include \"codegen/machine.h\"\n", 1},
      {"codegen/cuda/machine.cpp", "#include \"codegen/lower/context.h\"\n", 0},
      {"codegen/compile.h", "#include \"codegen/cpu/options.h\"\n", 0},
      {"codegen/cuda/options.cpp", "#include \"codegen/cuda/options.h\"\n", 0},
      {"codegen/cuda/options.h", "#include \"codegen/cuda/machine.h\"\n", 1},
      {"codegen/lower/lower.cpp", "#include \"codegen/cuda/options.h\"\n", 1},
      {"codegen/new_floor/a.cpp", "#include \"codegen/step/order.h\"\n", 1},
      {"codegen/cpu/walk.cpp", "#include \"codegen/cpu/walk.h\"\n", 0},
      {"tests/codegen/interpreter/nest.cpp", "#include \"codegen/cpu/nest_abi.h\"\n", 1},
      {"runtime/cuda/driver.cpp", "#include <cuda.h>\n", 0},
      {"runtime/tensor.cpp", "#include <cuda_runtime.h>\n#include <cudnn_v9.h>\n", 2},
      {"codegen/cuda/launch.cpp", "#include \"runtime/cuda/driver.h\"\n", 0},
      {"codegen/compile.cpp", "#include \"runtime/cuda/driver.h\"\n", 1},
      {"runtime/arena.cpp", "#include \"runtime/cuda/device.h\"\n", 1},
      {"tools/a.cpp", "#include \"runtime/cuda/libraries.h\"\n", 0},
      {"tests/cuda/mock/device.cpp", "#include \"runtime/cuda/driver_types.h\"\n", 0},
      {"ir/serialize.cpp", "#include \"ir/graph.pb.h\"\n", 0},
      {"ir/print.cpp", "#include \"ir/graph.pb.h\"\n#include <google/protobuf/arena.h>\n", 2},
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
