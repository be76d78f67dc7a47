// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/replay_memory.h"

#include <fmt/format.h>

namespace graphc::testing {

ReplayMemory::ReplayMemory(const Plan& lowered, const Plan& planned)
    : lowered_(lowered), planned_(planned), arena_(size_t(planned.arena_bytes)) {
  const auto from_outside = [](const Buffer& buffer) {
    return buffer.place == Place::input || buffer.place == Place::state ||
           buffer.place == Place::constant;
  };
  for (const Buffer& buffer : lowered.buffers)
    lowered_bytes_.emplace_back(size_t(buffer.bytes), from_outside(buffer) ? 1 : 0);
  for (const Buffer& buffer : planned.buffers) {
    outside_.emplace_back(buffer.place == Place::arena ? 0 : size_t(buffer.bytes));
    for (Cell& cell : outside_.back()) cell.writer = from_outside(buffer) ? 1 : 0;
  }
}

ReplayMemory::Cell* ReplayMemory::planned_cells(int buffer, int64_t offset, int64_t bytes) {
  const Buffer& b = planned_.buffers[size_t(buffer)];
  if (offset < 0 || offset + bytes > b.bytes) return nullptr;
  return b.place == Place::arena ? &arena_[size_t(b.offset + offset)]
                                 : &outside_[size_t(buffer)][size_t(offset)];
}

void ReplayMemory::fail(const std::string& what, const ReplayPlace& place) {
  if (!fault_.empty()) return;
  fault_ = fmt::format("{}: {} at byte {} of %{}, planned as %{}", call_ ? *call_ : "", what,
                       place.offset, lowered_.buffers[size_t(place.lowered)].name,
                       planned_.buffers[size_t(place.planned)].name);
}

void ReplayMemory::read(const ReplayPlace& place, int64_t bytes) {
  if (!fault_.empty()) return;
  Cell* cells = planned_cells(place.planned, place.planned_offset, bytes);
  const std::vector<uint32_t>& lowered = lowered_bytes_[size_t(place.lowered)];
  if (cells == nullptr || place.offset < 0 || place.offset + bytes > int64_t(lowered.size()))
    return fail("reads outside", place);
  for (int64_t i = 0; i < bytes; ++i) {
    Cell& cell = cells[i];
    const uint32_t wanted = lowered[size_t(place.offset + i)];
    if (wanted == 0) return fail("reads what nobody has written", place);
    if (cell.writer != wanted) return fail("reads what another write left", place);
    if (cell.written_in == phase_ && cell.written_by != thread_)
      return fail("reads what another thread writes in the same phase", place);
    if (cell.read_in != phase_) cell.read_by = 0;
    cell.read_in = phase_;
    cell.read_by |= uint8_t(1u << thread_);
  }
}

void ReplayMemory::write(const ReplayPlace& place, int64_t bytes) {
  if (!fault_.empty()) return;
  Cell* cells = planned_cells(place.planned, place.planned_offset, bytes);
  std::vector<uint32_t>& lowered = lowered_bytes_[size_t(place.lowered)];
  if (cells == nullptr || place.offset < 0 || place.offset + bytes > int64_t(lowered.size()))
    return fail("writes outside", place);
  ++writes_;
  for (int64_t i = 0; i < bytes; ++i) {
    Cell& cell = cells[i];
    if (cell.written_in == phase_ && cell.written_by != thread_)
      return fail("two threads write in the same phase", place);
    if (cell.read_in == phase_ && (cell.read_by & ~(1u << thread_)) != 0)
      return fail("writes what another thread reads in the same phase", place);
    cell.writer = lowered[size_t(place.offset + i)] = writes_;
    cell.written_in = phase_;
    cell.written_by = thread_;
  }
}

void ReplayMemory::expect_results() {
  static const std::string end = "the end";
  set_call(end);
  next_phase();
  for (size_t i = 0; i < planned_.buffers.size(); ++i) {
    const Buffer& buffer = planned_.buffers[i];
    if (buffer.place == Place::output || buffer.place == Place::state)
      read({int(i), int(i), 0, 0}, buffer.bytes);
  }
}

}  // namespace graphc::testing
