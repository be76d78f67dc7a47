// SPDX-License-Identifier: Apache-2.0
// Training figures for TensorBoard: a file of TFRecords, each a length, its checksum, an event and
// its checksum.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphc::core {

/// Numbers with names: {{"loss", 0.5}, {"validation", 0.6}}.
using Figures = std::vector<std::pair<std::string, double>>;

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of bytes.
uint32_t crc32c(std::string_view bytes);

/// A framed record: the length, its checksum, the record and its checksum, with little-endian
/// numbers. A checksum is masked: rotated right by 15 bits, plus 0xa282ead8.
std::string framed(std::string_view record);

/// `TensorBoard board("runs/first")`, then `board.add(step, {{"loss", loss}})`; view it with
/// `tensorboard --logdir runs`. Errors of ErrorKind::resource have the path and the system's
/// reason.
class TensorBoard {
 public:
  /// Starts a new file in the folder, which is created if needed; an empty path writes nothing.
  /// TensorBoard merges the files of a resumed training. Throws ErrorKind::resource if the file
  /// cannot be written.
  explicit TensorBoard(const std::filesystem::path& folder);
  TensorBoard(const TensorBoard&) = delete;
  TensorBoard& operator=(const TensorBoard&) = delete;
  ~TensorBoard();

  /// Adds the figures of a step, one curve per name. They are in the file when this returns. Throws
  /// ErrorKind::resource if it cannot be written.
  void add(int64_t step, const Figures& figures);

 private:
  void write_record(std::string_view record);

  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace graphc::core
