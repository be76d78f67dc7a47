// SPDX-License-Identifier: Apache-2.0
#include "runtime/state_store.h"

#include <atomic>
#include <utility>

#include "ir/mutant.h"

namespace graphc::core {
namespace {

/// Versions are unique in the process, not per state: a form found with another state, at the
/// address of a destroyed one, is then stale.
uint64_t next_version() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

DerivedForm::DerivedForm(int64_t bytes) : bytes_(bytes) {
  GRAPHC_CHECK(bytes >= 0, "a form of {} bytes", bytes);
  if (bytes >= Arena::kAlignment) {
    arena_.reserve(bytes);
  } else {
    buffer_ = allocate_buffer(bytes);
  }
}

bool DerivedForm::is_stale(const StoredState& state) const { return made_from != state.version(); }

StoredState::StoredState(const Type& type) : StoredState(Tensor(type)) {}

StoredState::StoredState(Tensor home)
    : type_(home.type()), home_(std::move(home)), version_(next_version()) {}

Tensor& StoredState::change() {
  if (away_) bring_home();
  written();
  return home_;
}

void StoredState::written() {
  if (!mutated(Mutant::changed_state_keeps_version)) version_ = next_version();
}

void StoredState::bring_home() const {
  // Whatever happens, it is not brought home again.
  const std::shared_ptr<const AwayForm> away = std::move(away_);
  away_ = nullptr;
  away->bring(const_cast<std::byte*>(home_.address()));
}

void StoredState::adopt(Tensor home) {
  GRAPHC_CHECK(home.type() == type_, "a state of {} adopts {}", to_string(type_),
               to_string(home.type()));
  away_ = nullptr;
  change() = std::move(home);
}

void StoredState::release() {
  away_ = nullptr;
  change() = Tensor(type_, nullptr);
}

std::shared_ptr<DerivedForm> StoredState::form(const FormKey& key, int64_t bytes) {
  const auto known = forms_.find(key);
  if (known != forms_.end()) {
    if (std::shared_ptr<DerivedForm> held = known->second.lock()) {
      GRAPHC_CHECK(held->bytes() == bytes, "a form of {} bytes is asked for with {}", held->bytes(),
                   bytes);
      return held;
    }
  }
  // Drops the keys of expired forms: a session may compile a graph for any number of shapes.
  std::erase_if(forms_, [](const auto& entry) { return entry.second.expired(); });
  auto made = std::make_shared<DerivedForm>(bytes);
  forms_.emplace(key, made);
  return made;
}

}  // namespace graphc::core
