// SPDX-License-Identifier: Apache-2.0
// A mock of NVRTC: it parses a text as the emulator does, and what it makes of it is the text.
#include "runtime/cuda/nvrtc.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <sstream>
#include <string>

#include "ir/error.h"
#include "runtime/cuda/nvrtc_functions.h"
#include "tests/cuda/emulator/module.h"
#include "tests/cuda/mock/error_codes.h"
#include "tests/cuda/mock/libraries.h"

namespace graphc::core::cuda_mock {
namespace {

using namespace graphc::core::cuda;

constexpr std::array kArchitectures{75, 80, 86, 89, 90};

/// Options that NVRTC has and that change nothing here.
constexpr std::array kOptions{"--fmad=",          "-default-device",     "--minimal",
                              "--ptxas-options=", "--Ofast-compile=",    "--split-compile=",
                              "--std=",           "--generate-line-info"};

struct Program {
  std::string text, name, log, cubin, ptx;
};

struct Programs {
  std::mutex mutex;
  std::map<nvrtcProgram, std::unique_ptr<Program>> all;
};

Programs& programs() {
  static auto* const kept = std::make_unique<Programs>().release();
  return *kept;
}

/// What a test asked that this call return instead of what it would; else NVRTC_SUCCESS.
nvrtcResult asked(const char* symbol) { return nvrtcResult(library_driver().call(symbol)); }

/// One call on the program of a handle, under the lock: counted, made to fail if a test asked for
/// that.
template <typename Body>
nvrtcResult with(const char* symbol, nvrtcProgram handle, Body&& body) {
  if (const nvrtcResult error = asked(symbol)) return error;
  const std::lock_guard lock(programs().mutex);
  const auto found = programs().all.find(handle);
  return found == programs().all.end() ? NVRTC_ERROR_INVALID_PROGRAM : body(*found->second);
}

/// The text with empty lines for the part that the emulator has built in.
std::string without_prelude(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == kPreludeBegin) inside = true;
    if (!inside) result += line;
    result += '\n';
    if (line == kPreludeEnd) inside = false;
  }
  return result;
}

/// Whether the options are such as NVRTC takes; `ptx` becomes whether they ask for no more. What is
/// wrong goes to the program's log.
bool read_options(Program& program, int count, const char* const* options, bool& ptx) {
  static const std::regex architecture("--gpu-architecture=(sm|compute)_([0-9]+)([af]?)");
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    std::smatch match;
    if (std::regex_match(option, match, architecture)) {
      ptx = match[1] == "compute";
      if (std::ranges::count(kArchitectures, std::stoi(match[2])) == 1) continue;
    } else if (std::ranges::any_of(kOptions,
                                   [&](auto known) { return option.starts_with(known); })) {
      continue;
    }
    program.log = "nvrtc: error: invalid option " + option + "\n";
    return false;
  }
  return true;
}

nvrtcResult size_of(const std::string& bytes, size_t extra, size_t* size) {
  if (size == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *size = bytes.empty() && extra == 0 ? 0 : bytes.size() + extra;
  return NVRTC_SUCCESS;
}

/// Copies bytes, and a zero after them if `extra` says so.
nvrtcResult copy_of(const std::string& bytes, size_t extra, char* to) {
  if (to == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::memcpy(to, bytes.c_str(), bytes.size() + extra);
  return NVRTC_SUCCESS;
}

}  // namespace

GRAPHC_MOCK_EXPORT const char* nvrtcGetErrorString(nvrtcResult result) {
  return words_of(kNvrtcCodes, result, "NVRTC_ERROR unknown");
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (const nvrtcResult error = asked("nvrtcVersion")) return error;
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (const nvrtcResult error = asked("nvrtcGetNumSupportedArchs")) return error;
  if (count == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *count = int(kArchitectures.size());
  return NVRTC_SUCCESS;
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  if (const nvrtcResult error = asked("nvrtcGetSupportedArchs")) return error;
  if (architectures == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  std::ranges::copy(kArchitectures, architectures);
  return NVRTC_SUCCESS;
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text,
                                                  const char* name, int headers,
                                                  const char* const* header_texts,
                                                  const char* const* header_names) {
  if (const nvrtcResult error = asked("nvrtcCreateProgram")) return error;
  if (program == nullptr || text == nullptr || headers < 0) return NVRTC_ERROR_INVALID_INPUT;
  if (headers > 0 || header_texts != nullptr || header_names != nullptr) {
    return NVRTC_ERROR_INVALID_INPUT;  // the texts that graphc makes have no headers
  }
  auto made = std::make_unique<Program>();
  made->text = text;
  made->name = name == nullptr ? "default_program" : name;
  const std::lock_guard lock(programs().mutex);
  *program = reinterpret_cast<nvrtcProgram>(made.get());
  programs().all[*program] = std::move(made);
  library_driver().objects("program", 1);
  return NVRTC_SUCCESS;
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  const std::lock_guard lock(programs().mutex);
  if (programs().all.erase(*program) == 0) return NVRTC_ERROR_INVALID_PROGRAM;
  *program = nullptr;
  library_driver().objects("program", -1);
  return asked("nvrtcDestroyProgram");
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count,
                                                   const char* const* options) {
  return with("nvrtcCompileProgram", handle, [&](Program& program) {
    if (count < 0 || (count > 0 && options == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
    bool ptx = true;  // as without --gpu-architecture
    if (!read_options(program, count, options, ptx)) return NVRTC_ERROR_INVALID_OPTION;
    const std::string text = without_prelude(program.text);
    try {
      const cuda_emulator::Module module(text, program.name);
    } catch (const Error& error) {
      program.log = std::string(error.what()) + "\n";
      return NVRTC_ERROR_COMPILATION;
    }
    program.ptx = text;
    if (!ptx) program.cubin = text;
    return NVRTC_SUCCESS;
  });
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, size_t* bytes) {
  return with("nvrtcGetPTXSize", handle,
              [&](Program& program) { return size_of(program.ptx, 1, bytes); });
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char* ptx) {
  return with("nvrtcGetPTX", handle,
              [&](Program& program) { return copy_of(program.ptx, 1, ptx); });
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t* bytes) {
  return with("nvrtcGetCUBINSize", handle,
              [&](Program& program) { return size_of(program.cubin, 0, bytes); });
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char* cubin) {
  return with("nvrtcGetCUBIN", handle,
              [&](Program& program) { return copy_of(program.cubin, 0, cubin); });
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t* bytes) {
  return with("nvrtcGetProgramLogSize", handle,
              [&](Program& program) { return size_of(program.log, 1, bytes); });
}

GRAPHC_MOCK_EXPORT nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char* log) {
  return with("nvrtcGetProgramLog", handle,
              [&](Program& program) { return copy_of(program.log, 1, log); });
}

}  // namespace graphc::core::cuda_mock
