// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the metadata of checkpoints, a line `key=value` for each entry.
#include "models/checkpoint.h"

#include "tests/fuzz/fuzz.h"

GRAPHC_FUZZ_TARGET(checkpoint)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  const std::string_view text = fuzz::text_of(data, size);
  Safetensors content;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const size_t equals = std::min(line.find('='), line.size());
    content.metadata.emplace(line.substr(0, equals),
                             line.substr(std::min(equals + 1, line.size())));
    begin = end + 1;
  }
  Checkpoint checkpoint;
  const bool read = fuzz::read_or_refused(ErrorKind::input, fuzz::kFile, [&] {
    checkpoint = from_safetensors(content, std::string(fuzz::kFile));
  });
  if (!read) return 0;
  const TrainPosition& position = checkpoint.position;
  GRAPHC_CHECK(position.epoch >= 0 && position.window >= 0 && position.step >= 0, "a place < 0");
  const Safetensors written = to_safetensors(checkpoint);
  // What is written has a checksum, and a number that files of before lacked.
  for (const auto& [key, value] : written.metadata) {
    const bool added = key == "checksum" || key == "waited";
    GRAPHC_CHECK(added || content.metadata.contains(key), "'{}' comes from nowhere", key);
  }
  const Safetensors again = to_safetensors(from_safetensors(written, "written"));
  GRAPHC_CHECK(again.metadata == written.metadata, "a checkpoint changes when written");
  return 0;
}
