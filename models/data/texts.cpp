// SPDX-License-Identifier: Apache-2.0
#include "models/data/texts.h"

#include <algorithm>
#include <vector>

#include "ir/error.h"
#include "runtime/files/files.h"
#include "runtime/files/foreign.h"
#include "runtime/files/text_encoding.h"

namespace graphc::core {
namespace {

namespace filesystem = std::filesystem;

/// The skipped files of a folder, and why.
class LeftOut {
 public:
  explicit LeftOut(filesystem::path folder) : folder_(std::move(folder)) {}

  void add(const filesystem::path& file, const std::string& why) {
    // The beginning of a long list suffices.
    if (++count_ <= kMostShown)
      shown_.push_back(fmt::format("{} ({})", file.lexically_relative(folder_).string(), why));
  }
  void say(const Reading& reading) const {
    if (count_ == 0) return;
    reading.say(fmt::format(
        "'{}': left out {}: {}{}", folder_.string(),
        count_ == 1 ? "1 entry" : fmt::format("{} entries", count_), fmt::join(shown_, "; "),
        count_ > kMostShown ? fmt::format("; {} more", count_ - kMostShown) : ""));
  }

 private:
  static constexpr size_t kMostShown = 10;

  filesystem::path folder_;
  size_t count_ = 0;
  std::vector<std::string> shown_;
};

bool is_hidden(const filesystem::path& path) { return path.filename().string().starts_with('.'); }

std::vector<filesystem::path> files_in(const filesystem::path& folder, LeftOut& left_out) {
  std::vector<filesystem::path> files, others;
  std::error_code error;
  auto entry = filesystem::recursive_directory_iterator(folder, error);
  for (; !error && entry != filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
      others.push_back(entry->path());
    } else if (entry->is_regular_file(error)) {
      files.push_back(entry->path());
    } else if (!entry->is_directory(error) || entry->is_symlink(error)) {
      others.push_back(entry->path());
    }
  }
  if (error) throw input_error({}, "cannot read '{}': {}", folder.string(), error.message());
  std::ranges::sort(files);
  std::ranges::sort(others);
  for (const filesystem::path& other : others)
    left_out.add(other, is_hidden(other) ? "hidden" : "no regular file");
  return files;
}

/// Why the bytes of a file in a folder are skipped; empty if they are text.
std::string reason_against(const std::string& bytes, const filesystem::path& file,
                           const Reading& reading) {
  if (bytes.empty()) return "empty";
  std::string format = foreign_format(bytes, file, Wanted::text);
  if (!format.empty()) return format.substr(0, format.find(':'));
  const auto fault = text_fault(bytes);
  if (!fault) return "";
  if (!fault->is_text) return fault->what;
  // A text in an encoding other than the requested one is an error, not skipped.
  if (reading.encoding.empty()) throw text_error(file.string(), *fault);
  return "";
}

}  // namespace

std::string read_text(const filesystem::path& path, const Reading& reading) {
  std::error_code ignored;
  if (!filesystem::is_directory(path, ignored)) return read_text_file(path, reading.encoding);
  LeftOut left_out(path);
  std::string text;
  for (const filesystem::path& file : files_in(path, left_out)) {
    const std::string bytes = read_file(file, kMostOfText);
    if (const std::string why = reason_against(bytes, file, reading); !why.empty()) {
      left_out.add(file, why);
      continue;
    }
    TextDecoder decoder(file.string(), reading.encoding);
    std::string content = decoder.add(bytes);
    content += decoder.end();
    if (content.size() > kMostOfText - text.size()) {
      throw input_error({}, "'{}' has more than {} bytes of text: wanted at most that",
                        path.string(), kMostOfText);
    }
    text += content;
  }
  left_out.say(reading);
  if (text.empty())
    throw input_error({}, "'{}' has no text files: wanted a file or folder of text", path.string());
  return text;
}

}  // namespace graphc::core
