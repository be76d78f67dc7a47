// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "runtime/cuda/cublaslt.h"
#include "runtime/cuda/cudnn.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"

namespace graphc::core::cuda {
namespace {

namespace filesystem = std::filesystem;
using Path = filesystem::path;

constexpr const char* kVariable = "GRAPHC_CUDA_LIBRARIES";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The subfolders of a folder, sorted; empty if it cannot be read.
std::vector<Path> folders_in(const Path& folder) {
  std::vector<Path> found;
  std::error_code error;
  for (filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_directory(ignored)) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Adds PREFIX/lib/python*/site-packages/nvidia/*/lib.
void add_python_packages(const Path& prefix, std::vector<Path>& folders) {
  for (const Path& python : folders_in(prefix / "lib")) {
    if (!python.filename().string().starts_with("python")) continue;
    for (const Path& package : folders_in(python / "site-packages" / "nvidia")) {
      folders.push_back(package / "lib");
    }
  }
}

/// Whether a file is the toolkit's stub driver, used to link programs on machines without a driver.
bool is_stub(const Path& path) {
  std::error_code ignored;
  const Path real = filesystem::weakly_canonical(path, ignored);
  return std::ranges::any_of(real, [](const Path& part) { return part == "stubs"; });
}

std::string path_of(void* handle) {
  struct link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return "";
  return map->l_name;
}

std::string last_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}

/// Accepts a library from dlopen(), or closes it and records why not.
Opened accept(const Wanted& wanted, void* handle) {
  Opened result{handle, {std::string(wanted.name), path_of(handle), "", ""}};
  std::string& why_not = result.found.why_not;
  if (is_stub(result.found.path)) {
    why_not =
        fmt::format("'{}' is a stub to link with; wanted {}", result.found.path, wanted.wanted);
  }
  for (const std::string_view symbol : wanted.symbols) {
    if (!why_not.empty()) break;
    if (dlsym(handle, std::string(symbol).c_str()) == nullptr) {
      why_not = fmt::format("'{}' has no {}; wanted {}", result.found.path, symbol, wanted.wanted);
    }
  }
  if (!why_not.empty()) {
    dlclose(handle);
    result.handle = nullptr;
  }
  return result;
}

/// Opens an existing file.
Opened open_file(const Wanted& wanted, const Path& path) {
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return accept(wanted, handle);
  return {nullptr, {std::string(wanted.name), path.string(), "", last_error()}};
}

/// The library in this folder: the first of its names that exists, or nothing.
std::optional<Opened> open_in(const Wanted& wanted, const Path& folder) {
  for (const std::string_view soname : wanted.sonames) {
    std::error_code ignored;
    if (filesystem::exists(folder / soname, ignored)) return open_file(wanted, folder / soname);
  }
  return std::nullopt;
}

/// The library found by the system's search.
std::optional<Opened> open_by_name(const Wanted& wanted) {
  for (const std::string_view name : wanted.sonames) {
    const std::string soname(name);
    if (void* handle = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL)) return accept(wanted, handle);
    const std::string reason = last_error();
    if (reason.starts_with(soname + ": cannot open shared object file: No such file")) continue;
    return Opened{nullptr, {std::string(wanted.name), "", "", reason}};
  }
  return std::nullopt;
}

Opened not_found(const Wanted& wanted, std::string why_not) {
  return {nullptr, {std::string(wanted.name), "", "", std::move(why_not)}};
}

}  // namespace

Places places_of_environment() {
  Places places;
  const std::string named = variable(kVariable);
  if (named == "none") {
    places.system = false;
    return places;
  }
  for (size_t begin = 0; begin < named.size();) {
    const size_t end = std::min(named.find(':', begin), named.size());
    if (end > begin) places.named.emplace_back(named.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const std::string& toolkit :
       {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (toolkit.empty()) continue;
    for (const char* folder : {"lib64", "lib"}) places.folders.push_back(Path(toolkit) / folder);
  }
  const std::string environment = variable("VIRTUAL_ENV"), home = variable("HOME");
  if (!environment.empty()) add_python_packages(environment, places.folders);
  if (!home.empty()) add_python_packages(Path(home) / ".local", places.folders);
  return places;
}

Opened open_library(const Wanted& wanted, const Places& places) {
  for (const Path& folder : places.named) {
    std::error_code ignored;
    if (!filesystem::is_directory(folder, ignored)) {
      return not_found(wanted, fmt::format("{}: no folder '{}'", kVariable, folder.string()));
    }
    if (std::optional<Opened> found = open_in(wanted, folder)) return *found;
  }
  std::optional<Opened> unusable;
  const auto usable = [&](std::optional<Opened> found) {
    const bool opened = found && found->handle != nullptr;
    if (opened || (found && !unusable)) unusable = std::move(found);
    return opened;
  };
  if (places.system && usable(open_by_name(wanted))) return *unusable;
  for (const Path& folder : places.folders) {
    if (usable(open_in(wanted, folder))) return *unusable;
  }
  if (unusable) return *unusable;
  return not_found(wanted, fmt::format("no {} was found", fmt::join(wanted.sonames, " or ")));
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string library_version_text(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::vector<FoundLibrary> found_libraries() {
  return {loaded_driver().library, nvrtc_library(), cudnn_library(), cublaslt_library()};
}

}  // namespace graphc::core::cuda
