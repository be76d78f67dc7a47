// SPDX-License-Identifier: Apache-2.0
#include "models/data_notes.h"

#include <algorithm>

#include "runtime/files/safetensors.h"

namespace graphc::core {
namespace {

constexpr std::string_view kDataNote = "data.";
const std::string kTest = "data.test";

const std::string& note_of(const Notes& notes, const std::string& name) {
  static const std::string none = "nothing";
  const auto found = notes.find(name);
  return found == notes.end() ? none : found->second;
}

/// The names of the parts in either of the notes.
std::vector<std::string> parts_of(const Notes& found, const Notes& checkpoint) {
  std::vector<std::string> names;
  for (const Notes* notes : {&found, &checkpoint}) {
    for (const auto& [name, text] : *notes) {
      if (name.starts_with(kDataNote) && std::ranges::find(names, name) == names.end())
        names.push_back(name);
    }
  }
  return names;
}

}  // namespace

std::pair<std::string, std::string> data_note(PartOfData part) {
  Safetensors content;
  for (size_t i = 0; i < part.values.size(); ++i)
    content.arrays.emplace(std::to_string(i), std::move(part.values[i]));
  return {fmt::format("{}{}", kDataNote, part.name),
          fmt::format("{} {}, XXH3 {}", part.elements, part.unit, checksum(content))};
}

Notes data_notes(std::vector<PartOfData> parts) {
  Notes notes;
  for (PartOfData& part : parts) notes.insert(data_note(std::move(part)));
  return notes;
}

bool has_data_notes(const Notes& checkpoint) {
  return std::ranges::any_of(checkpoint,
                             [](const auto& note) { return note.first.starts_with(kDataNote); });
}

bool is_same_data(const Notes& found, const Notes& checkpoint) {
  if (!has_data_notes(checkpoint)) return false;
  return std::ranges::all_of(parts_of(found, checkpoint), [&](const std::string& name) {
    return name == kTest || note_of(found, name) == note_of(checkpoint, name);
  });
}

void check_same_data(const Notes& found, const Notes& checkpoint, const Reading& reading) {
  if (!has_data_notes(checkpoint)) {
    reading.say(
        "the checkpoint does not say what data it was trained on: training goes on with these as "
        "if they were the same");
    return;
  }
  std::string test;
  for (const std::string& name : parts_of(found, checkpoint)) {
    const std::string &now = note_of(found, name), &before = note_of(checkpoint, name);
    if (now == before) continue;
    const std::string differ = fmt::format("split '{}' is {}: the checkpoint's was {}",
                                           name.substr(kDataNote.size()), now, before);
    if (name != kTest) throw other_data_error(differ);
    test = differ;
  }
  if (!test.empty()) reading.say(fmt::format("{}: the test at the end is of other data", test));
}

Error other_data_error(const std::string& what) {
  return input_error({}, "the data are not those of the checkpoint: {}", what)
      .note(
          "--resume needs the data of the checkpoint; to train on other data, start a new training "
          "with --init");
}

}  // namespace graphc::core
