// SPDX-License-Identifier: Apache-2.0
#include "frontend/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "ir/error.h"

namespace graphc::core {
namespace {

/// The CRC table: per byte, with the polynomial's bits in reverse order, as in RFC 3720.
constexpr std::array<uint32_t, 256> kCastagnoli = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? 0x82f63b78 : 0);
    table[byte] = rest;
  }
  return table;
}();

double wall_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

void append_little_endian(std::string& to, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) to += char(number >> (8 * i) & 0xff);
}

// An event in the encoding of Protocol Buffers, of which it takes three kinds of fields; written
// here, since whoever uses the library may have another version of theirs in the process. The
// messages and their numbers: tests/tools/event_file.proto.

void append_varint(std::string& to, uint64_t number) {
  for (; number >= 0x80; number >>= 7) to += char(number | 0x80);
  to += char(number);
}

enum class Wire : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void append_key(std::string& to, int field, Wire wire) {
  append_varint(to, uint64_t(field) << 3 | uint64_t(wire));
}

void append_bytes(std::string& to, int field, std::string_view bytes) {
  append_key(to, field, Wire::bytes);
  append_varint(to, bytes.size());
  to += bytes;
}

/// An event of now, without what it says.
std::string event_now() {
  std::string event;
  append_key(event, 1, Wire::fixed64);
  append_little_endian(event, std::bit_cast<uint64_t>(wall_seconds()), 8);
  return event;
}

/// A summary's value: a figure with its name.
std::string value_of(std::string_view name, float figure) {
  std::string value;
  append_bytes(value, 1, name);
  append_key(value, 2, Wire::fixed32);
  append_little_endian(value, std::bit_cast<uint32_t>(figure), 4);
  return value;
}

uint32_t masked(uint32_t checksum) { return std::rotr(checksum, 15) + 0xa282ead8; }

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t rest = ~uint32_t{0};
  for (const char byte : bytes) rest = rest >> 8 ^ kCastagnoli[(rest ^ uint8_t(byte)) & 0xff];
  return ~rest;
}

std::string framed(std::string_view record) {
  std::string all;
  append_little_endian(all, record.size(), 8);
  append_little_endian(all, masked(crc32c(all)), 4);
  all += record;
  append_little_endian(all, masked(crc32c(record)), 4);
  return all;
}

TensorBoard::TensorBoard(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw resource_error("cannot make the folder '{}': {}", folder.string(), error.message());
  // TensorBoard looks for this name; the process number keeps files of the same second apart.
  path_ =
      (folder / fmt::format("events.out.tfevents.{}.graphc.{}", int64_t(wall_seconds()), getpid()))
          .string();
  file_ = std::fopen(path_.c_str(), "wxe");
  if (file_ == nullptr) throw resource_error("{}: {}", path_, std::strerror(errno));
  std::string first = event_now();
  append_bytes(first, 3, "brain.Event:2");
  write_record(first);
}

TensorBoard::~TensorBoard() {
  if (file_ != nullptr) std::fclose(file_);
}

void TensorBoard::add(int64_t step, const Figures& figures) {
  if (file_ == nullptr || figures.empty()) return;
  std::string record = event_now(), summary;
  append_key(record, 2, Wire::varint);
  append_varint(record, uint64_t(step));
  for (const auto& [name, number] : figures)
    append_bytes(summary, 1, value_of(name, float(number)));
  append_bytes(record, 5, summary);
  write_record(record);
}

void TensorBoard::write_record(std::string_view record) {
  const std::string bytes = framed(record);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size() || std::fflush(file_) != 0)
    throw resource_error("{}: {}", path_, std::strerror(errno));
}

}  // namespace graphc::core
