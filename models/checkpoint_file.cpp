// SPDX-License-Identifier: Apache-2.0
// The file format of a checkpoint: states are arrays, everything else is metadata.
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "ir/utf8.h"
#include "models/checkpoint.h"

namespace graphc::core {
namespace {

// The keys of the metadata; the keys of notes begin with kNote.
constexpr const char *kFormat = "format", *kChecksum = "checksum", *kModel = "model",
                     *kEpoch = "epoch", *kWindow = "window", *kStep = "step", *kTotal = "total",
                     *kSeed = "seed", *kBest = "best", *kStalls = "stalls", *kWaited = "waited";
constexpr std::string_view kThisFormat = "graphc checkpoint 2", kNote = "note.";
/// The previous format, without a checksum.
constexpr std::string_view kUnchecked = "graphc checkpoint 1";

/// The metadata of a checkpoint, parsed strictly.
class Metadata {
 public:
  Metadata(const std::map<std::string, std::string>& entries, std::string file)
      : entries_(entries), file_(std::move(file)) {}

  bool has(const char* key) const { return entries_.contains(key); }

  const std::string& text(const char* key) const {
    const auto entry = entries_.find(key);
    if (entry == entries_.end())
      throw input_error({}, "{}: no checkpoint: its metadata lacks '{}'", file_, key);
    return entry->second;
  }

  template <typename Integer>
  Integer integer(const char* key) const {
    const std::string& found = text(key);
    Integer value = 0;
    const char* end = found.data() + found.size();
    const auto [rest, error] = std::from_chars(found.data(), end, value);
    if (error != std::errc() || rest != end || found[0] == '-')
      throw input_error({}, "{}: '{}' is a number from 0: found '{}'", file_, key,
                        printable(found));
    return value;
  }

  /// A number in the format "%a", which is exact.
  double number(const char* key) const {
    const std::string& found = text(key);
    char* end = nullptr;
    const double value = std::strtod(found.c_str(), &end);
    if (found.empty() || end != found.data() + found.size())
      throw input_error({}, "{}: '{}' is a number: found '{}'", file_, key, printable(found));
    return value;
  }

 private:
  const std::map<std::string, std::string>& entries_;
  std::string file_;
};

}  // namespace

Safetensors to_safetensors(Checkpoint checkpoint) {
  Safetensors content;
  content.arrays = std::move(checkpoint.states);
  content.metadata = {{kFormat, std::string(kThisFormat)},
                      {kModel, checkpoint.model},
                      {kSeed, std::to_string(checkpoint.seed)},
                      {kEpoch, std::to_string(checkpoint.position.epoch)},
                      {kWindow, std::to_string(checkpoint.position.window)},
                      {kStep, std::to_string(checkpoint.position.step)},
                      {kTotal, fmt::format("{:a}", checkpoint.position.total)}};
  // Only after a validation, so that other trainings have no such entries.
  if (checkpoint.position.best < HUGE_VAL || checkpoint.position.stalls > 0) {
    content.metadata.emplace(kBest, fmt::format("{:a}", checkpoint.position.best));
    content.metadata.emplace(kStalls, std::to_string(checkpoint.position.stalls));
    content.metadata.emplace(kWaited, std::to_string(checkpoint.position.waited));
  }
  for (const auto& [name, note] : checkpoint.notes)
    content.metadata.emplace(std::string(kNote) + name, note);
  content.metadata.emplace(kChecksum, checksum(content));
  return content;
}

Integrity integrity_of(const Safetensors& content) {
  const auto stated = content.metadata.find(kChecksum);
  if (stated == content.metadata.end()) return Integrity::unknown;
  return stated->second == checksum(content, kChecksum) ? Integrity::whole : Integrity::damaged;
}

Error damaged_error(const std::string& file) {
  return input_error({}, "{}: it is damaged: its checksum is not that of what it holds", file);
}

Checkpoint from_safetensors(Safetensors content, const std::string& file) {
  const Metadata metadata(content.metadata, file);
  const std::string& format = metadata.text(kFormat);
  if (format != kThisFormat && format != kUnchecked) {
    throw input_error({}, "{}: its format is '{}': wanted '{}'", file, printable(format),
                      kThisFormat);
  }
  if (format == kThisFormat) metadata.text(kChecksum);
  if (integrity_of(content) == Integrity::damaged) throw damaged_error(file);
  Checkpoint checkpoint{.file = file,
                        .model = metadata.text(kModel),
                        .seed = metadata.integer<uint64_t>(kSeed),
                        .position = {.epoch = metadata.integer<int64_t>(kEpoch),
                                     .window = metadata.integer<int64_t>(kWindow),
                                     .step = metadata.integer<int64_t>(kStep),
                                     .total = metadata.number(kTotal)},
                        .states = std::move(content.arrays)};
  if (metadata.has(kBest)) {
    checkpoint.position.best = metadata.number(kBest);
    checkpoint.position.stalls = metadata.integer<int64_t>(kStalls);
    if (metadata.has(kWaited)) checkpoint.position.waited = metadata.integer<int64_t>(kWaited);
  }
  for (const auto& [key, note] : content.metadata) {
    if (key.starts_with(kNote)) checkpoint.notes.emplace(key.substr(kNote.size()), note);
  }
  return checkpoint;
}

}  // namespace graphc::core
