// SPDX-License-Identifier: Apache-2.0
// Fuzz target: characters of a text, and lists of characters as checkpoints keep them. The first
// byte is the most characters that are known.
#include "models/data/characters.h"

#include "tests/fuzz/fuzz.h"

namespace graphc::core::fuzz {
namespace {

void check_characters(const Characters& characters, std::string_view text) {
  for (int32_t id = 0; id + 1 < characters.size(); ++id)
    GRAPHC_CHECK(characters.ids(characters.text(id)) == std::vector<int32_t>{id},
                 "character {} has another number", id);
  const std::vector<int32_t> ids = characters.ids(text);
  GRAPHC_CHECK(ids.size() <= text.size(), "{} characters of {} bytes", ids.size(), text.size());
  for (int32_t id : ids)
    GRAPHC_CHECK(id >= 0 && id < characters.size(), "id {} of {}", id, characters.size());
  const std::string list = characters.to_text();
  const Characters again = Characters::from_text(list);
  GRAPHC_CHECK(again.to_text() == list, "a list changes when read");
  GRAPHC_CHECK(again.ids(text) == ids, "a list that was read numbers otherwise");
}

}  // namespace
}  // namespace graphc::core::fuzz

GRAPHC_FUZZ_TARGET(characters)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  if (size == 0) return 0;
  const int32_t limit = data[0];
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  fuzz::read_or_refused(ErrorKind::input, "a text without characters", [&] {
    const Characters frequent(text, limit);
    GRAPHC_CHECK(frequent.size() <= std::max(limit, 2), "{} of {}", frequent.size(), limit);
    fuzz::check_characters(frequent, text);
  });
  fuzz::read_or_refused(ErrorKind::input, "a list of characters has one twice",
                        [&] { fuzz::check_characters(Characters::from_text(text), text); });
  return 0;
}
