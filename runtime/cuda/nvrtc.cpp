// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <sstream>

#include "ir/error.h"
#include "runtime/cuda/nvrtc_functions.h"

namespace graphc::core::cuda {
namespace {

constexpr std::array<std::string_view, 2> kNvrtcNames{"libnvrtc.so.13", "libnvrtc.so.12"};
constexpr std::array<std::string_view, 13> kNvrtcSymbols{
#define GRAPHC_NVRTC_FUNCTION(name, parameters) #name,
#include "runtime/cuda/nvrtc.def"
#undef GRAPHC_NVRTC_FUNCTION
    "nvrtcGetErrorString"};
static_assert(!kNvrtcSymbols.back().empty());
/// The number of log lines that become notes of an error.
constexpr size_t kMostNotes = 20;

struct LoadedNvrtc {
  Nvrtc functions;
  FoundLibrary library;
  std::vector<int> architectures;
};

/// Reads the compiler's version and architectures; returns "" or what failed.
std::string describe(LoadedNvrtc& loaded) {
  const Nvrtc& nvrtc = loaded.functions;
  int major = 0, minor = 0, count = 0;
  if (const nvrtcResult error = nvrtc.nvrtcVersion(&major, &minor)) {
    return fmt::format("nvrtcVersion: {}", nvrtc.nvrtcGetErrorString(error));
  }
  loaded.library.version = fmt::format("{}.{}", major, minor);
  if (const nvrtcResult error = nvrtc.nvrtcGetNumSupportedArchs(&count)) {
    return fmt::format("nvrtcGetNumSupportedArchs: {}", nvrtc.nvrtcGetErrorString(error));
  }
  loaded.architectures.resize(size_t(std::max(count, 0)));
  if (const nvrtcResult error = nvrtc.nvrtcGetSupportedArchs(loaded.architectures.data())) {
    return fmt::format("nvrtcGetSupportedArchs: {}", nvrtc.nvrtcGetErrorString(error));
  }
  std::sort(loaded.architectures.begin(), loaded.architectures.end());
  return "";
}

/// NVRTC opens a second library by name, libnvrtc-builtins.so.13.0, at its first compilation. It is
/// next to NVRTC, where only NVRTC's own search looks, and a sanitizer replaces that search. A
/// library that is already open is found by name. If there is none, NVRTC reports it.
void open_builtins_beside(const std::string& nvrtc) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(nvrtc).parent_path();
  for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->path().filename().string().starts_with("libnvrtc-builtins.so."))
      dlopen(at->path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

LoadedNvrtc load_nvrtc(const Places& places) {
  Opened opened =
      open_library({"nvrtc", kNvrtcNames, kNvrtcSymbols, "NVRTC 12.1 or newer"}, places);
  LoadedNvrtc loaded{{}, std::move(opened.found), {}};
  if (opened.handle == nullptr) return loaded;
  open_builtins_beside(loaded.library.path);
  Nvrtc& nvrtc = loaded.functions;
#define GRAPHC_NVRTC_FUNCTION(name, parameters) \
  nvrtc.name = reinterpret_cast<decltype(nvrtc.name)>(dlsym(opened.handle, #name));
#include "runtime/cuda/nvrtc.def"
#undef GRAPHC_NVRTC_FUNCTION
  nvrtc.nvrtcGetErrorString = reinterpret_cast<decltype(nvrtc.nvrtcGetErrorString)>(
      dlsym(opened.handle, "nvrtcGetErrorString"));
  loaded.library.why_not = describe(loaded);
  return loaded;
}

const LoadedNvrtc& loaded_nvrtc() {
  static const LoadedNvrtc loaded = load_nvrtc(places_of_environment());
  return loaded;
}

/// The compiler; throws a resource error if there is none.
const LoadedNvrtc& present() {
  const LoadedNvrtc& loaded = loaded_nvrtc();
  if (!loaded.library.why_not.empty()) {
    throw resource_error("no NVRTC: {}", loaded.library.why_not);
  }
  return loaded;
}

/// A missing builtins library, which is installed next to the compiler, is the machine's fault.
ErrorKind kind_of(nvrtcResult result) {
  const bool machine =
      result == NVRTC_ERROR_OUT_OF_MEMORY || result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
  return machine ? ErrorKind::resource : ErrorKind::internal;
}

/// Throws unless an NVRTC call other than the compilation succeeded.
void check(nvrtcResult result, std::string_view call, const std::string& name) {
  if (result == NVRTC_SUCCESS) return;
  throw Error(
      kind_of(result), {},
      fmt::format("{} ({}): {}", call, name, present().functions.nvrtcGetErrorString(result)));
}

/// One compilation.
class Program {
 public:
  Program(const std::string& text, const std::string& name) : name_(name) {
    check(nvrtc_.nvrtcCreateProgram(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr),
          "nvrtcCreateProgram", name_);
  }
  ~Program() { nvrtc_.nvrtcDestroyProgram(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<const char*>& options) {
    return nvrtc_.nvrtcCompileProgram(program_, int(options.size()), options.data());
  }
  std::string cubin() const {
    return bytes({nvrtc_.nvrtcGetCUBINSize, "nvrtcGetCUBINSize"},
                 {nvrtc_.nvrtcGetCUBIN, "nvrtcGetCUBIN"});
  }
  std::string ptx() const {
    return text({nvrtc_.nvrtcGetPTXSize, "nvrtcGetPTXSize"}, {nvrtc_.nvrtcGetPTX, "nvrtcGetPTX"});
  }
  std::string log() const {
    return text({nvrtc_.nvrtcGetProgramLogSize, "nvrtcGetProgramLogSize"},
                {nvrtc_.nvrtcGetProgramLog, "nvrtcGetProgramLog"});
  }
  /// The same after a failed compilation, which is the error to report, with or without a log.
  std::string log_of_failure() const {
    try {
      return log();
    } catch (const Error&) {
      return "";
    }
  }

 private:
  /// A function and its name in errors.
  struct Size {
    nvrtcResult (*function)(nvrtcProgram, size_t*);
    std::string_view name;
  };
  struct Get {
    nvrtcResult (*function)(nvrtcProgram, char*);
    std::string_view name;
  };

  std::string bytes(const Size& size, const Get& get) const {
    size_t count = 0;
    check(size.function(program_, &count), size.name, name_);
    std::string result(count, '\0');
    check(get.function(program_, result.data()), get.name, name_);
    return result;
  }
  /// The size of a text includes the terminating zero.
  std::string text(const Size& size, const Get& get) const {
    std::string result = bytes(size, get);
    while (!result.empty() && result.back() == '\0') result.pop_back();
    return result;
  }

  const Nvrtc& nvrtc_ = present().functions;
  const std::string& name_;
  nvrtcProgram program_ = nullptr;
};

struct Architecture {
  bool ptx = false;    ///< "compute_90", not "sm_90"
  int number = 0;      ///< 90
  std::string suffix;  ///< "a" or ""
};

/// The known architectures, for use without NVRTC.
constexpr std::array kArchitectures{75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121};

/// What is wrong with an architecture given by the user, or nothing.
std::string problem_of(const std::string& text, Architecture& architecture) {
  static const std::regex form("(sm|compute)_([1-9][0-9]{1,3})([af]?)");
  std::smatch match;
  if (!std::regex_match(text, match, form))
    return fmt::format("'{}' is no architecture; wanted one like sm_90a or compute_90", text);
  architecture = {match[1] == "compute", std::stoi(match[2]), match[3]};
  const int number = architecture.number;
  const LoadedNvrtc& loaded = loaded_nvrtc();
  const bool present = loaded.library.why_not.empty();
  const std::vector<int> known =
      present ? loaded.architectures
              : std::vector<int>(kArchitectures.begin(), kArchitectures.end());
  if (!std::ranges::binary_search(known, number)) {
    return present ? fmt::format("NVRTC {} does not know {}; it compiles for sm_{}",
                                 loaded.library.version, text, fmt::join(known, ", sm_"))
                   : fmt::format("'{}' is no architecture; there is sm_{}", text,
                                 fmt::join(known, ", sm_"));
  }
  // Architecture-specific features (suffix a) exist from 9.0 on, family-specific ones (f) from
  // 10.0.
  const int oldest = architecture.suffix == "a" ? 90 : architecture.suffix == "f" ? 100 : 0;
  if (number >= oldest) return "";
  return fmt::format("'{}' is no architecture; '{}' stands behind sm_{} and newer", text,
                     architecture.suffix, oldest);
}

Architecture parse_architecture(const std::string& text) {
  Architecture architecture;
  present();
  if (const std::string problem = problem_of(text, architecture); !problem.empty())
    throw input_error({}, "{}", problem);
  return architecture;
}

/// The error of a text that does not compile: the first log line that mentions an error, with the
/// log as notes.
Error compile_error(nvrtcResult result, const std::string& name, const std::string& architecture,
                    const std::string& log) {
  std::vector<std::string> lines;
  std::istringstream stream(log);
  for (std::string line; std::getline(stream, line);) {
    if (line.find_first_not_of(" \r") != std::string::npos) lines.push_back(line);
  }
  const auto first = std::ranges::find_if(
      lines, [](const std::string& line) { return line.find("error") != std::string::npos; });
  Error error(
      kind_of(result), {},
      fmt::format("cannot compile {} for {}: {}", name, architecture,
                  first != lines.end() ? *first : present().functions.nvrtcGetErrorString(result)));
  for (size_t i = 0; i < lines.size() && i < kMostNotes; ++i) error.note(lines[i]);
  if (lines.size() > kMostNotes)
    error.note(fmt::format("{} lines more", lines.size() - kMostNotes));
  return error;
}

Compiled compile(const std::string& text, const std::string& name, const std::string& architecture,
                 bool ptx, std::span<const std::string> options) {
  const std::string flag = "--gpu-architecture=" + architecture;
  std::vector<const char*> arguments{flag.c_str()};
  for (const std::string& option : options) arguments.push_back(option.c_str());
  Program program(text, name);
  const nvrtcResult result = program.compile(arguments);
  if (result != NVRTC_SUCCESS)
    throw compile_error(result, name, architecture, program.log_of_failure());
  Compiled compiled{"", !ptx, program.log()};
  compiled.image = ptx ? program.ptx() : program.cubin();
  return compiled;
}

}  // namespace

Compiled compile_text(const std::string& text, const std::string& name,
                      const std::string& architecture, std::span<const std::string> options) {
  return compile(text, name, architecture, parse_architecture(architecture).ptx, options);
}

std::string ptx_of(const std::string& text, const std::string& name,
                   const std::string& architecture, std::span<const std::string> options) {
  const Architecture wanted = parse_architecture(architecture);
  return compile(text, name, fmt::format("compute_{}{}", wanted.number, wanted.suffix), true,
                 options)
      .image;
}

std::vector<int> nvrtc_architectures() { return present().architectures; }

int architecture_number(const std::string& text) {
  Architecture architecture;
  std::string problem = problem_of(text, architecture);
  if (problem.empty() && architecture.ptx)
    problem = fmt::format("'{}' is no architecture of a GPU; wanted sm_{}{}", text,
                          architecture.number, architecture.suffix);
  if (!problem.empty()) throw Error(ErrorKind::usage, {}, problem);
  return architecture.number;
}

std::string architecture_for(int major, int minor) {
  const LoadedNvrtc& loaded = present();
  const int wanted = major * 10 + minor;
  const auto above = std::ranges::upper_bound(loaded.architectures, wanted);
  if (above == loaded.architectures.begin()) {
    throw resource_error("a GPU of compute capability {}.{} is too old for NVRTC {}", major, minor,
                         loaded.library.version);
  }
  const int newest = *(above - 1);
  if (newest != wanted) return fmt::format("compute_{}", newest);
  // From 9.0 on some instructions exist only in the architecture-specific variant.
  return fmt::format("sm_{}{}", wanted, wanted >= 90 ? "a" : "");
}

bool nvrtc_present(std::string* why_not) {
  const std::string& reason = nvrtc_library().why_not;
  if (why_not != nullptr && !reason.empty()) *why_not = reason;
  return reason.empty();
}

const FoundLibrary& nvrtc_library() { return loaded_nvrtc().library; }

FoundLibrary look_for_nvrtc(const Places& places) { return load_nvrtc(places).library; }

}  // namespace graphc::core::cuda
