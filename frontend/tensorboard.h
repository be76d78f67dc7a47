// SPDX-License-Identifier: Apache-2.0
// Figures of a training as TensorBoard reads them: a file of records, each a length, its checksum,
// an event and its checksum (TFRecord).
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

/// The length of a record, its checksum, the record and its checksum, the numbers little-endian. A
/// checksum is masked: turned right by 15 bits, plus 0xa282ead8.
std::string framed(std::string_view record);

/// `TensorBoard board("runs/first")`, then `board.add(step, {{"loss", loss}})`; what is there is
/// shown by `tensorboard --logdir runs`. Errors of ErrorKind::resource have the path and the
/// system's reason.
class TensorBoard {
 public:
  /// Begins a file of its own in the folder, which is made if it is not there; an empty path writes
  /// none. Several files of a training that was resumed are one to the reader. Throws
  /// ErrorKind::resource when it cannot be written.
  explicit TensorBoard(const std::filesystem::path& folder);
  TensorBoard(const TensorBoard&) = delete;
  TensorBoard& operator=(const TensorBoard&) = delete;
  ~TensorBoard();

  /// The figures of a step, each a curve by its name. They are in the file when this returns.
  /// Throws ErrorKind::resource when it cannot be written.
  void add(int64_t step, const Figures& figures);

 private:
  void write_record(std::string_view record);

  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace graphc::core
