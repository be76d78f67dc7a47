// SPDX-License-Identifier: Apache-2.0
// Texts as samples of one length: a window of characters, and the character that follows.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/data/characters.h"
#include "models/data/texts.h"
#include "runtime/tensor.h"

namespace graphc::core {

/// Converts ASCII and Latin-1 capitals (U+00C0 to U+00DE) to lower case.
std::string lower_case(std::string_view text);
/// The runs of ASCII letters and digits of every line, separated by a space; lines are joined
/// without a separator. `a @-@ b\nc` becomes `a bc`.
std::string alphanumeric(std::string_view text);
/// Every distinct character of the text, in the order of code points: Characters::from_text gives
/// them their indices as ids. Throws ErrorKind::input for a text that is not UTF-8.
std::string alphabet_of(std::string_view text);

/// nietzsche.txt in the folder, or the file itself, in lower case. Throws ErrorKind::input if it
/// cannot be read.
std::string read_nietzsche(const std::filesystem::path& path, const Reading& reading = {});
/// The file of a part (train, valid or test) of WikiText-2, alphanumeric and in lower case.
std::string read_wikitext2_characters(const std::filesystem::path& folder, std::string_view part,
                                      const Reading& reading = {});

/// Windows of `steps` ids that begin every `stride` ids and are followed by an id.
class CharacterWindows {
 public:
  /// Throws ErrorKind::input for a text that is too short for a window.
  CharacterWindows(std::vector<int32_t> ids, int64_t steps, int64_t stride);

  int64_t count() const { return count_; }
  /// The ids of these windows, i32[steps, batch], and the ids that follow them, i32[batch].
  std::vector<Tensor> batch(std::span<const int64_t> windows) const;
  /// The ids of one window.
  std::span<const int32_t> window(int64_t index) const;
  /// The id that follows it.
  int32_t target(int64_t index) const { return ids_[size_t(index * stride_ + steps_)]; }

 private:
  std::vector<int32_t> ids_;
  int64_t steps_, stride_, count_;
};

}  // namespace graphc::core
