// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the text of a corpus. The first byte is the number of rows and steps, the first line
// behind it gives the vocabulary.
#include "models/data/text_corpus.h"
#include "tests/fuzz/fuzz.h"

GRAPHC_FUZZ_TARGET(words)(const uint8_t* data, size_t size) {
  using namespace graphc::core;
  if (size == 0) return 0;
  const int64_t batch = data[0] % 16, steps = data[0] / 16;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  const std::vector<std::string_view> words = split_words(text);
  const size_t line = std::min(text.find('\n'), text.size());
  const Vocabulary vocabulary(split_words(text.substr(0, line)));
  for (int32_t id = 0; id < vocabulary.size(); ++id)
    GRAPHC_CHECK(vocabulary.id(vocabulary.word(id)) == id, "word {} has another number", id);
  fuzz::read_or_refused(ErrorKind::input, "", [&] {
    const std::vector<int32_t> ids = vocabulary.ids(words, fuzz::kFile, text);
    const Windows windows(ids, batch, steps);
    for (int64_t i = 0; i < windows.count(); ++i) {
      const Window window = windows.window(i);
      for (int32_t id : window.targets.data<int32_t>())
        GRAPHC_CHECK(id >= 0 && id < vocabulary.size(), "id {} of {}", id, vocabulary.size());
    }
  });
  return 0;
}
