// SPDX-License-Identifier: Apache-2.0
// Handles and errors of the C interface: which objects live, and how exceptions become a status.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "frontend/c/c.h"
#include "ir/error.h"

namespace graphc::core {

/// The kinds of objects that C programs hold.
enum class HandleKind : uint8_t { error, module, session, graph };

/// Records that an object is in the caller's hands. Any thread may call this and the next two.
void add_handle(const void* object, HandleKind kind);
/// Forgets an object that is to be freed; returns whether it was a live object of this kind.
bool remove_handle(const void* object, HandleKind kind);
bool is_live_handle(const void* object, HandleKind kind);

/// A call of a function of the interface, by its name: it checks arguments.
class CCall {
 public:
  explicit CCall(const char* function) : function_(function) {}

  /// An ErrorKind::usage that names the function.
  Error error(const std::string& message) const;

  /// The object of a handle. Throws ErrorKind::usage if it is NULL or no live object of its kind.
  template <typename Object>
  Object& live(Object* handle, const char* argument) const {
    check_live(handle, std::remove_const_t<Object>::kKind, argument);
    return *handle;
  }
  /// A pointer to what the function fills in or reads. Throws ErrorKind::usage if it is NULL.
  template <typename T>
  T& given(T* pointer, const char* argument) const {
    check_given(pointer, argument);
    return *pointer;
  }
  /// A text. Throws ErrorKind::usage if it is NULL.
  std::string text(const char* pointer, const char* argument) const {
    check_given(pointer, argument);
    return pointer;
  }
  /// Throws ErrorKind::usage if a struct of the caller is smaller than its first version.
  void check_size(size_t found, size_t wanted, const char* argument) const;
  /// Frees an object; NULL is ignored. Throws ErrorKind::usage if it is no live object of its kind.
  template <typename Object>
  void free(Object* handle, const char* argument) const {
    if (handle == nullptr) return;
    if (!remove_handle(handle, Object::kKind)) check_live(handle, Object::kKind, argument);
    delete handle;
  }

 private:
  void check_live(const void* handle, HandleKind kind, const char* argument) const;
  void check_given(const void* pointer, const char* argument) const;

  const char* function_;
};

/// Gives an object to the caller.
template <typename Object>
void hand_over(Object*& handle, std::unique_ptr<Object> object) {
  add_handle(object.get(), Object::kKind);
  handle = object.release();
}

/// The status of the exception being handled; sets *error unless `error` is NULL.
graphc_status report_exception(const char* function, graphc_error** error) noexcept;

/// Calls the body of a function of the interface with a CCall.
template <typename Body>
graphc_status guarded(const char* function, graphc_error** error, Body&& body) noexcept {
  try {
    body(CCall(function));
    return GRAPHC_OK;
  } catch (...) {
    return report_exception(function, error);
  }
}

/// The error of a handle, which may be NULL; for a handle that is not live, an error that says so.
const Error* error_of(const graphc_error* error);

}  // namespace graphc::core

struct graphc_error {
  static constexpr auto kKind = graphc::core::HandleKind::error;

  graphc::core::Error error;
};
