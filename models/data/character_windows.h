// SPDX-License-Identifier: Apache-2.0
// Texts as samples of the same length: a window of characters, and the character behind it.
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

/// Small letters for capitals of ASCII and Latin-1 (U+00C0 to U+00DE); else the text as it is.
std::string lower_case(std::string_view text);
/// Of every line the runs of ASCII letters and digits with a space between them; lines are joined
/// with nothing. `a @-@ b\nc` is `a bc`.
std::string alphanumeric(std::string_view text);
/// Every character of the text once, in the order of code points: the ids that
/// Characters::from_text gives them are their places in it. Throws ErrorKind::input for a text that
/// is no UTF-8.
std::string alphabet_of(std::string_view text);

/// nietzsche.txt in the folder, or the file itself, in lower case. Throws ErrorKind::input when it
/// cannot be read.
std::string read_nietzsche(const std::filesystem::path& path, const Reading& reading = {});
/// The file of a part (train, valid or test) of WikiText-2, alphanumeric and in lower case.
std::string read_wikitext2_characters(const std::filesystem::path& folder, std::string_view part,
                                      const Reading& reading = {});

/// Windows of `steps` ids that begin every `stride` ids, as long as an id follows.
class CharacterWindows {
 public:
  /// Throws ErrorKind::input for a text without a window.
  CharacterWindows(std::vector<int32_t> ids, int64_t steps, int64_t stride);

  int64_t count() const { return count_; }
  /// The ids of these windows, i32[steps, batch], and those behind them, i32[batch].
  std::vector<Tensor> batch(std::span<const int64_t> windows) const;
  /// The ids of one.
  std::span<const int32_t> window(int64_t index) const;
  /// The id behind it.
  int32_t target(int64_t index) const { return ids_[size_t(index * stride_ + steps_)]; }

 private:
  std::vector<int32_t> ids_;
  int64_t steps_, stride_, count_;
};

}  // namespace graphc::core
