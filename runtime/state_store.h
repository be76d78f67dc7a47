// SPDX-License-Identifier: Apache-2.0
// States with versions, and their derived forms.
//
// A state is what outlives a call: a parameter, a slot of an optimizer, what a model carries on.
// Its home form is a row-major tensor, in a buffer that the state holds. Everyone reads and writes
// that one: set, load, reset, and a graph with a `next` for the state, which writes it in place.
//
// A derived form is the same content in another shape, for code that would otherwise make it anew
// at every call: a weight in the panels that a product reads, in another element type, or as the
// blob that a library wants. It is a copy, never the truth: nobody writes a result into it.
//
// - Who makes it: the executable that wants it asks `form()` for memory under a key, which says
//   everything that decides the bytes beside the state's content. Executables that were compiled at
//   different times (other shapes of a graph, another graph) and ask one state for equal keys share
//   one form.
// - Whose memory it is: the holders'. The form lives as long as an executable holds it, and goes
//   with the last. The state only knows where it is; a form may outlive its state.
// - Its version: `made_from` is the version of the home form it was made of; 0 before that.
// - When it is rewritten: by an executable that reads it, at the beginning of a call and before
//   anything else, if it is stale; then `made_from` becomes the state's version. Between calls
//   nobody works on it, so a form that no call asks for may stay stale for ever.
//
// Whatever writes a state gives it a new version, which makes all its forms stale at once. Versions
// are never used twice, not even by two states: a form cannot be taken for that of another state.
//
// What runs on a device may leave the newest content there (AwayForm): the next who asks for the
// home form brings it home first, and until then nothing is copied. A step that finds its states
// where it left them copies none of them.
//
// One thread at a time uses a state and its forms: a session does, and calls of its executables.
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

/// What a target calls a form: equal keys of one state are the same bytes, and as many.
using FormKey = std::vector<int64_t>;

/// Memory for a derived form of a state, 64-byte aligned, zeros at first; from 2 MiB on an arena.
class DerivedForm {
 public:
  /// Throws ErrorKind::resource when there is no such memory.
  explicit DerivedForm(int64_t bytes);
  DerivedForm(const DerivedForm&) = delete;
  DerivedForm& operator=(const DerivedForm&) = delete;

  std::byte* data() const { return arena_.data() != nullptr ? arena_.data() : buffer_.get(); }
  int64_t bytes() const { return bytes_; }

  /// True when it is not made of the state's content as it is now: it has to be rewritten first.
  bool is_stale(const StoredState& state) const;

  /// The version it was made of; 0: none yet. Set by who rewrites it, after the last byte.
  uint64_t made_from = 0;

 private:
  int64_t bytes_;
  Arena arena_;
  std::shared_ptr<std::byte> buffer_;  ///< where it is too small for an arena
};

/// The content of a state that lies elsewhere and is newer than the home form: in the memory of a
/// device.
class AwayForm {
 public:
  virtual ~AwayForm() = default;
  /// Writes the content, as many bytes as the state has, to `home`. Throws ErrorKind::resource when
  /// the device does not answer; the content is lost then.
  virtual void bring(std::byte* home) const = 0;
};

/// One state: its home form, the version of that, and where its derived forms are. It stays at its
/// address: executables' callers keep pointers to it.
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
  /// shows what is written later; copy() keeps today's elements. Content that is away is brought
  /// home first: throws what AwayForm::bring() throws.
  const Tensor& home() const {
    if (away_) bring_home();
    return home_;
  }
  /// The home form, to write, once: every derived form is stale from here on. Executables read the
  /// version at the beginning of a call: what is written after that needs another change().
  Tensor& change();
  /// An executable has written the home form, or what is away: a new version, and nothing is
  /// brought home.
  void written();
  /// The newest content is `away` from here on. written() follows.
  void leave(std::shared_ptr<const AwayForm> away) { away_ = std::move(away); }
  /// Where the newest content is, if it is not at home; else null.
  const AwayForm* away() const { return away_.get(); }
  /// Another buffer, with a tensor of the same type, becomes the home form: a new version.
  void adopt(Tensor home);
  /// Lets the home form go, and what is away: home() has no buffer until the next adopt(). For who
  /// adopted somebody else's tensor for one call.
  void release();

  /// The number of the newest content: not 0, larger after every change.
  uint64_t version() const { return version_; }

  /// The form called `key`, of `bytes` bytes: the one that others hold, or else a new one, which is
  /// stale. Throws ErrorKind::resource when there is no memory for it.
  std::shared_ptr<DerivedForm> form(const FormKey& key, int64_t bytes);

 private:
  void bring_home() const;

  Type type_;
  Tensor home_;
  mutable std::shared_ptr<const AwayForm> away_;
  uint64_t version_;
  std::map<FormKey, std::weak_ptr<DerivedForm>> forms_;
};

/// The states of a session by name. They stay at their addresses while others are added.
using StateStore = std::map<std::string, StoredState, std::less<>>;

}  // namespace graphc::core
