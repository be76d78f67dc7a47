// SPDX-License-Identifier: Apache-2.0
// States with versions, and their derived forms.
//
// A state outlives calls: a parameter, an optimizer slot, a carried activation. Its home form is a
// row-major tensor in a buffer held by the state. Everyone reads and writes the home form: set,
// load, reset, and a graph with a `next` for the state, which writes it in place.
//
// A derived form has the same content in another layout, for code that would otherwise convert it
// at every call: a weight packed into panels for a matrix product, in another element type, or as
// the blob of a library. It is a copy: results are never written into it.
//
// - Creation: the executable that needs it calls `form()` with a key that determines the bytes,
//   apart from the state's content. Executables compiled at different times (other shapes of a
//   graph, another graph) that use equal keys share one form.
// - Ownership: the executables that use it. The form is freed with the last of them. The state
//   holds only a weak pointer; a form may outlive its state.
// - Version: `made_from` is the version of the home form it was made from; 0 before that.
// - Update: an executable that reads the form rewrites it at the start of a call, before anything
//   else, if it is stale; then `made_from` becomes the state's version. Nothing happens between
//   calls, so an unused form may stay stale forever.
//
// Every write of a state gives it a new version, which makes all its forms stale. Versions are
// unique across all states, so a form cannot be mistaken for that of another state.
//
// Device code may leave the newest content on the device (AwayForm): the next access to the home
// form copies it home first, and until then nothing is copied. A step that finds its states where
// it left them copies none of them.
//
// A state and its forms are used by one thread at a time: a session, and calls of its executables.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/arena.h"
#include "runtime/tensor.h"

namespace graphc::core {

class StoredState;

/// A target's name for a form: for one state, equal keys mean equal bytes and equal size.
using FormKey = std::vector<int64_t>;

/// Memory for a derived form of a state, 64-byte aligned, zeros at first; an arena from 2 MiB on.
class DerivedForm {
 public:
  /// Throws ErrorKind::resource if there is not enough memory.
  explicit DerivedForm(int64_t bytes);
  DerivedForm(const DerivedForm&) = delete;
  DerivedForm& operator=(const DerivedForm&) = delete;

  std::byte* data() const { return arena_.data() != nullptr ? arena_.data() : buffer_.get(); }
  int64_t bytes() const { return bytes_; }

  /// Whether it differs from the state's current content and must be rewritten.
  bool is_stale(const StoredState& state) const;

  /// The version it was made from; 0: none yet. Set by the writer after the last byte.
  uint64_t made_from = 0;

 private:
  int64_t bytes_;
  Arena arena_;
  std::shared_ptr<std::byte> buffer_;  ///< if it is too small for an arena
};

/// The content of a state that is elsewhere, in the memory of a device, and newer than the home
/// form.
class AwayForm {
 public:
  virtual ~AwayForm() = default;
  /// Copies the content, of the state's size, to `home`. Throws ErrorKind::resource if the device
  /// fails; the content is then lost.
  virtual void bring(std::byte* home) const = 0;
};

/// One state: its home form, the version of that, and pointers to its derived forms. Its address is
/// stable: callers of executables keep pointers to it.
class StoredState {
 public:
  /// Zeros.
  explicit StoredState(const Type& type);
  /// `home` becomes the home form, as by adopt().
  explicit StoredState(Tensor home);
  StoredState(const StoredState&) = delete;
  StoredState& operator=(const StoredState&) = delete;

  const Type& type() const { return type_; }

  /// The home form, to read. The buffer is the state's own: a copy of the tensor, or its literal(),
  /// shows later writes; use copy() to keep the current elements. First brings home content that is
  /// away: throws what AwayForm::bring() throws.
  const Tensor& home() const {
    if (away_) bring_home();
    return home_;
  }
  /// The home form, to write, once: every derived form becomes stale. Executables read the version
  /// at the start of a call: a later write needs another change().
  Tensor& change();
  /// Called after an executable has written the home form or away content: gives it a new version
  /// without bringing it home.
  void written();
  /// From now on the newest content is `away`. A call of written() follows.
  void leave(std::shared_ptr<const AwayForm> away) { away_ = std::move(away); }
  /// The newest content if it is not at home; otherwise null.
  const AwayForm* away() const { return away_.get(); }
  /// Replaces the home form by a tensor of the same type in another buffer: a new version.
  void adopt(Tensor home);
  /// Drops the home form and away content: home() has no buffer until the next adopt(). For tensors
  /// adopted for one call only.
  void release();

  /// The version of the newest content: not 0, increasing with every change.
  uint64_t version() const { return version_; }

  /// The form called `key`, of `bytes` bytes: an existing one, or a new one, which is stale. Throws
  /// ErrorKind::resource if there is not enough memory.
  std::shared_ptr<DerivedForm> form(const FormKey& key, int64_t bytes);

 private:
  void bring_home() const;

  Type type_;
  Tensor home_;
  mutable std::shared_ptr<const AwayForm> away_;
  uint64_t version_;
  std::map<FormKey, std::weak_ptr<DerivedForm>> forms_;
};

/// The states of a session by name. Addresses are stable when others are added.
using StateStore = std::map<std::string, StoredState, std::less<>>;

}  // namespace graphc::core
