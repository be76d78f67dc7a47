// SPDX-License-Identifier: Apache-2.0
// The figures of a training as TensorBoard reads them: a file of records, each a length, its
// checksum, an event and its checksum (TFRecord).
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "models/program.h"

namespace graphc::core::commands {

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4) of bytes.
uint32_t crc32c(std::string_view bytes);

/// The length of a record, its checksum, the record and its checksum, the numbers little-endian. A
/// checksum is masked: turned right by 15 bits, plus 0xa282ead8.
std::string framed(std::string_view record);

/// Writes the figures of events as they happen. Throws ErrorKind::resource, with the path and the
/// system's reason.
class EventFile {
 public:
  /// Begins a file of its own in the folder, which is made if it is not there; without a folder
  /// nothing is written. Several files of a training that was resumed are one to the reader.
  explicit EventFile(const std::string& folder);
  EventFile(const EventFile&) = delete;
  ~EventFile();

  void write(const TrainEvent& event);

 private:
  void write_record(std::string_view record);

  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace graphc::core::commands
