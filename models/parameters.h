// SPDX-License-Identifier: Apache-2.0
// The parameters a model is named with: `lstm-layer hidden=512 steps=30`.
#pragma once

#include <cmath>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphc::core {

/// One parameter of a model.
struct ParameterRecord {
  std::string_view name;
  std::string_view otherwise;  ///< the value when it is not given
  std::string_view doc;
};

/// The largest number that an extent may be given.
inline constexpr int64_t kMostOfExtent = (int64_t{1} << 31) - 1;
/// The most layers of a network.
inline constexpr int64_t kMostLayers = 1000;

/// The values of a model's parameters. Everything throws ErrorKind::usage, naming the parameter,
/// what was found and what is wanted.
class Parameters {
 public:
  /// Reads assignments `name=value`, each name once.
  Parameters(std::string_view model, std::span<const ParameterRecord> records,
             const std::vector<std::string>& assignments);

  /// Sets a parameter that was not given: for those whose default depends on others.
  void set_default(std::string_view name, std::string value);

  std::string text(std::string_view name) const;
  /// Whether it was assigned, and to something else than its default.
  bool is_given(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t least = 1, int64_t most = kMostOfExtent) const;
  /// The parameter `layers`: a graph is as long as they are many, so that there is a limit.
  int64_t layers() const;
  double number(std::string_view name) const;
  /// A number above 0 and below `below`.
  double positive(std::string_view name, double below = HUGE_VAL) const;
  /// The parameter `keep`: the probability that dropout keeps an element, in (0, 1].
  double keep() const;
  bool flag(std::string_view name) const;
  /// The position of the value in `choices`.
  size_t choice(std::string_view name, std::span<const std::string_view> choices) const;

  /// Every parameter with its value, in the order of the records.
  std::vector<std::pair<std::string, std::string>> entries() const;
  /// "hidden=512 steps=30": every parameter, in the order of the records.
  std::string to_text() const;

 private:
  struct Value {
    std::string text;
    bool given = false;
  };
  std::string model_;
  std::span<const ParameterRecord> records_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace graphc::core
