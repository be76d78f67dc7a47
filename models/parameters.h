// SPDX-License-Identifier: Apache-2.0
// Named parameters of a model: `lstm-layer hidden=512 steps=30`.
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
  std::string_view otherwise;  ///< the default
  std::string_view doc;
};

/// The maximum of a parameter that is an extent.
inline constexpr int64_t kMostOfExtent = (int64_t{1} << 31) - 1;
/// The maximum number of layers.
inline constexpr int64_t kMostLayers = 1000;

/// The values of a model's parameters. Everything throws ErrorKind::usage, naming the parameter,
/// what was found and what is wanted.
class Parameters {
 public:
  /// Parses assignments `name=value`, each name once.
  Parameters(std::string_view model, std::span<const ParameterRecord> records,
             const std::vector<std::string>& assignments);

  /// Sets a parameter that was not given, if its default depends on others.
  void set_default(std::string_view name, std::string value);

  std::string text(std::string_view name) const;
  /// Whether it was given a value other than its default.
  bool is_given(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t least = 1, int64_t most = kMostOfExtent) const;
  /// The parameter `layers`; limited because the graph grows with it.
  int64_t layers() const;
  double number(std::string_view name) const;
  /// A number in (0, below).
  double positive(std::string_view name, double below = HUGE_VAL) const;
  /// The parameter `keep`: the probability of keeping an element in dropout, in (0, 1].
  double keep() const;
  bool flag(std::string_view name) const;
  /// The index of the value in `choices`.
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
