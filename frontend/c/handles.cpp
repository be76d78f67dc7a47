// SPDX-License-Identifier: Apache-2.0
#include "frontend/c/handles.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

namespace graphc::core {
namespace {

constexpr std::array kKinds{"graphc_error", "graphc_module", "graphc_session", "graphc_graph"};

/// The live objects. Their addresses are stored complemented, so that a leak checker does not take
/// this table for a use of an object that the program has lost.
class Handles {
 public:
  void add(const void* object, HandleKind kind) {
    const std::unique_lock lock(mutex_);
    kinds_.insert_or_assign(key(object), kind);
  }
  bool remove(const void* object, HandleKind kind) {
    const std::unique_lock lock(mutex_);
    const auto found = kinds_.find(key(object));
    if (found == kinds_.end() || found->second != kind) return false;
    kinds_.erase(found);
    return true;
  }
  std::optional<HandleKind> kind_of(const void* object) const {
    const std::shared_lock lock(mutex_);
    const auto found = kinds_.find(key(object));
    return found == kinds_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  static uintptr_t key(const void* object) { return ~reinterpret_cast<uintptr_t>(object); }

  mutable std::shared_mutex mutex_;
  std::unordered_map<uintptr_t, HandleKind> kinds_;
};

/// Never destroyed: programs free objects at exit, in any order.
Handles& handles() {
  static Handles* const all = new Handles;
  return *all;
}

// Made when the library is loaded, because there may be no memory for them later. They are not live
// handles, so they are not freed.
const graphc_error* const kOutOfMemory = new graphc_error{resource_error("out of memory")};
const graphc_error* const kNoError = new graphc_error{
    Error(ErrorKind::usage, {},
          "'error' is no live object: it was freed, or never made: wanted a graphc_error")};

Error error_of_current_exception(const char* function) {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return resource_error("out of memory");
  } catch (const std::exception& error) {
    return Error(ErrorKind::internal, {}, fmt::format("{}: {}", function, error.what()));
  } catch (...) {
    return Error(ErrorKind::internal, {}, fmt::format("{}: an unknown exception", function));
  }
}

}  // namespace

void add_handle(const void* object, HandleKind kind) { handles().add(object, kind); }

bool remove_handle(const void* object, HandleKind kind) { return handles().remove(object, kind); }

bool is_live_handle(const void* object, HandleKind kind) {
  return object != nullptr && handles().kind_of(object) == kind;
}

Error CCall::error(const std::string& message) const {
  return Error(ErrorKind::usage, {}, fmt::format("{}: {}", function_, message));
}

const Error* error_of(const graphc_error* error) {
  if (error == nullptr) return nullptr;
  const bool known = error == kOutOfMemory || is_live_handle(error, HandleKind::error);
  return known ? &error->error : &kNoError->error;
}

void CCall::check_live(const void* handle, HandleKind kind, const char* argument) const {
  const char* const wanted = kKinds[size_t(kind)];
  if (handle == nullptr) throw error(fmt::format("'{}' is NULL: wanted a {}", argument, wanted));
  const std::optional<HandleKind> found = handles().kind_of(handle);
  if (found == kind) return;
  const std::string what = found ? fmt::format("a {}", kKinds[size_t(*found)])
                                 : "no live object: it was freed, or never made";
  throw error(fmt::format("'{}' is {}: wanted a {}", argument, what, wanted));
}

void CCall::check_given(const void* pointer, const char* argument) const {
  if (pointer == nullptr) throw error(fmt::format("'{}' is NULL", argument));
}

void CCall::check_size(size_t found, size_t wanted, const char* argument) const {
  if (found >= wanted) return;
  throw error(
      fmt::format("'{}' has a struct_size of {}: wanted at least {}: set it to the size of "
                  "the struct",
                  argument, found, wanted));
}

graphc_status report_exception(const char* function, graphc_error** error) noexcept {
  try {
    auto made = std::make_unique<graphc_error>(error_of_current_exception(function));
    const graphc_status status = graphc_status(made->error.kind());
    if (error != nullptr) hand_over(*error, std::move(made));
    return status;
  } catch (...) {
    if (error != nullptr) *error = const_cast<graphc_error*>(kOutOfMemory);
    return GRAPHC_ERROR_RESOURCE;
  }
}

}  // namespace graphc::core
