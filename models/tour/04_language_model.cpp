// SPDX-License-Identifier: Apache-2.0
// 04, an LSTM language model: it memorises four lines, letter by letter, in a second.
#include <algorithm>
#include <string_view>

#include "models/tour/language_model.h"

using namespace graphc;

namespace {

// William Blake, 1794.
constexpr std::string_view kPoem =
    "Tyger Tyger, burning bright,\n"
    "In the forests of the night;\n"
    "What immortal hand or eye,\n"
    "Could frame thy fearful symmetry?\n";

/// The distinct letters of the poem, in order.
std::string alphabet() {
  std::string letters(kPoem);
  std::ranges::sort(letters);
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  return letters;
}

/// Each letter's index in the alphabet: i32 [steps, 1].
Literal numbered(std::string_view text, const std::string& letters) {
  std::vector<int32_t> places;
  for (const char letter : text) places.push_back(int32_t(letters.find(letter)));
  return Literal(places, {int64_t(places.size()), 1});
}

/// The poem's first letter, and what the model generates from its own output.
std::string recite(Session& session, const std::string& letters) {
  std::string said(kPoem.substr(0, 1));
  while (said.size() < kPoem.size()) {
    const Tensor next = session("next", numbered(said.substr(said.size() - 1), letters));
    said += letters[size_t(next.item<int32_t>())];
  }
  return said;
}

}  // namespace

int main() {
  const std::string letters = alphabet();
  Model model("tour");
  const LanguageModel language(model, int64_t(letters.size()), 64);
  // All parameters are declared here; the states of `train` and `next` are not parameters.
  const Params params = model.params();
  model.graph("train", Mode::training, [&](Inputs& in) { return language.train(params, in); });
  model.graph("next", [&](Inputs& in) { return language.next(in); });
  fmt::print("{} letters, {} parameters\n", letters.size(), model.parameter_count());

  Session session(model);
  const Literal text = numbered(kPoem.substr(0, kPoem.size() - 1), letters),
                after = numbered(kPoem.substr(1), letters);
  for (int step = 0; step <= 40; ++step) {
    const double loss = session("train", text, after).scalar();
    if (step % 5 == 0) fmt::print("step {:3}  loss {:.1f}\n", step, loss);
  }
  const std::string said = recite(session, letters);
  fmt::print("{}{}\n", said, said == kPoem ? "by heart" : "not yet");
}
