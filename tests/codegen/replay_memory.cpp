// SPDX-License-Identifier: Apache-2.0
#include "tests/codegen/replay_memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphc::core::testing {

ReplayMemory::ReplayMemory(const Plan& lowered, const Plan& planned)
    : lowered_(lowered), planned_(planned), arena_(size_t(planned.arena_bytes)) {
  const auto from_outside = [](const Buffer& buffer) {
    return buffer.place == Place::input || buffer.place == Place::state ||
           buffer.place == Place::constant;
  };
  // What is there from before has a writer of its own for each byte.
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    const Buffer& buffer = lowered.buffers[i];
    std::vector<uint32_t>& writers = lowered_bytes_.emplace_back(size_t(buffer.bytes), 0);
    std::vector<Cell>& cells = outside_.emplace_back();
    if (planned.buffers[i].place != Place::arena) cells.resize(size_t(buffer.bytes));
    if (!from_outside(buffer)) continue;
    for (size_t k = 0; k < writers.size(); ++k) writers[k] = cells[k].writer = ++writes_;
  }
}

ReplayMemory::Cell* ReplayMemory::planned_cells(int buffer, int64_t offset, int64_t bytes) {
  const Buffer& b = planned_.buffers[size_t(buffer)];
  if (offset < 0 || offset + bytes > b.bytes) return nullptr;
  return b.place == Place::arena ? &arena_[size_t(b.offset + offset)]
                                 : &outside_[size_t(buffer)][size_t(offset)];
}

uint32_t* ReplayMemory::lowered_writers(const ReplayPlace& place, int64_t bytes) {
  std::vector<uint32_t>& writers = lowered_bytes_[size_t(place.lowered)];
  if (place.offset < 0 || place.offset + bytes > int64_t(writers.size())) return nullptr;
  return writers.data() + place.offset;
}

void ReplayMemory::fail(const std::string& what) {
  if (fault_.empty()) fault_ = fmt::format("{}: {}", call_ ? *call_ : "", what);
}

void ReplayMemory::fail(const std::string& what, const ReplayPlace& place) {
  const auto name = [](const Plan& plan, int buffer) {
    return buffer < 0 ? "nothing" : "%" + plan.buffers[size_t(buffer)].name;
  };
  fail(fmt::format("{} at byte {} of {}, planned as {}", what, place.offset,
                   name(lowered_, place.lowered), name(planned_, place.planned)));
}

void ReplayMemory::note_read(Cell& cell, const ReplayPlace& place) {
  if (cell.written_in == phase_ && cell.written_by != thread_)
    return fail("reads what another thread writes in the same phase", place);
  if (cell.read_in != phase_) cell.read_by = 0;
  cell.read_in = phase_;
  cell.read_by |= uint8_t(1u << thread_);
}

void ReplayMemory::note_write(Cell& cell, const ReplayPlace& place) {
  if (cell.written_in == phase_ && cell.written_by != thread_)
    return fail("two threads write in the same phase", place);
  if (cell.read_in == phase_ && (cell.read_by & ~(1u << thread_)) != 0)
    return fail("writes what another thread reads in the same phase", place);
  cell.written_in = phase_;
  cell.written_by = thread_;
}

void ReplayMemory::read(const ReplayPlace& place, int64_t bytes) {
  if (!fault_.empty() || bytes == 0) return;
  Cell* cells = planned_cells(place.planned, place.planned_offset, bytes);
  const uint32_t* wanted = lowered_writers(place, bytes);
  if (cells == nullptr || wanted == nullptr) return fail("reads outside", place);
  for (int64_t i = 0; i < bytes && fault_.empty(); ++i) {
    if (wanted[i] == 0) return fail("reads what nobody has written", place);
    if (cells[i].writer != wanted[i]) return fail("reads what another write left", place);
    note_read(cells[i], place);
  }
}

void ReplayMemory::write(const ReplayPlace& place, int64_t bytes) {
  if (!fault_.empty() || bytes == 0) return;
  Cell* cells = planned_cells(place.planned, place.planned_offset, bytes);
  uint32_t* writers = lowered_writers(place, bytes);
  if (cells == nullptr || writers == nullptr) return fail("writes outside", place);
  ++writes_;
  for (int64_t i = 0; i < bytes && fault_.empty(); ++i) {
    note_write(cells[i], place);
    cells[i].writer = writers[i] = writes_;
  }
}

void ReplayMemory::copy(const ReplayPlace& from, const ReplayPlace& to, int64_t bytes) {
  if (from.lowered >= 0) copy_lowered(from, to, bytes);
  if (from.planned >= 0) copy_planned(from, to, bytes);
}

void ReplayMemory::copy_lowered(const ReplayPlace& from, const ReplayPlace& to, int64_t bytes) {
  if (!fault_.empty() || bytes == 0) return;
  const uint32_t* source = lowered_writers(from, bytes);
  uint32_t* target = lowered_writers(to, bytes);
  if (source == nullptr || target == nullptr) return fail("copies outside", from);
  std::copy(source, source + bytes, target);
}

void ReplayMemory::copy_planned(const ReplayPlace& from, const ReplayPlace& to, int64_t bytes) {
  if (!fault_.empty() || bytes == 0) return;
  Cell* source = planned_cells(from.planned, from.planned_offset, bytes);
  Cell* target = planned_cells(to.planned, to.planned_offset, bytes);
  if (source == nullptr || target == nullptr) return fail("copies outside", from);
  for (int64_t i = 0; i < bytes && fault_.empty(); ++i) {
    note_read(source[i], from);
    note_write(target[i], to);
    target[i].writer = source[i].writer;
  }
}

void ReplayMemory::expect_results() {
  static const std::string end = "the end";
  set_call(end);
  next_phase();
  for (size_t i = 0; i < planned_.buffers.size(); ++i) {
    const Buffer& buffer = planned_.buffers[i];
    if (buffer.place != Place::arena) read({int(i), int(i), 0, 0}, buffer.bytes);
  }
}

}  // namespace graphc::core::testing
