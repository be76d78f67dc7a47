// SPDX-License-Identifier: Apache-2.0
// Attributes: constants of a node that are part of the program, not of the data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/type.h"

namespace graphc::core {

/// The kinds an attribute may have. Text forms: `true`, `3`, `0.5`, `"text"`, `f32`, `[1,2]`,
/// `[0.5,1.]`; the empty list of floats is `[.]`.
using AttributeKinds = std::variant<bool, int64_t, double, std::string, DType, std::vector<int64_t>,
                                    std::vector<double>>;

/// A value of one of these kinds: std::variant with exception-safe copies. libstdc++ treats a
/// variant of these kinds as never valueless; if copying one throws, it destroys a value that was
/// never constructed (seen in version 12). The copy is therefore made outside and moved in, which
/// cannot throw.
class Attribute : public AttributeKinds {
 public:
  using AttributeKinds::AttributeKinds;
  Attribute(const Attribute& other);
  Attribute(Attribute&& other) noexcept = default;
  Attribute& operator=(const Attribute& other);
  Attribute& operator=(Attribute&& other) noexcept = default;
};

/// The attribute as text; floats print in the shortest exact form, always with a point or exponent.
std::string to_string(const Attribute& attribute);

/// A small map from names to attributes, sorted by name, so that equal sets print the same. Copies
/// share their entries until one is changed: passes copy nodes far more often than they change
/// attributes.
class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries);

  void set(std::string_view name, Attribute value);
  const Attribute* find(std::string_view name) const;

  /// The value of the attribute, or `otherwise` if it is absent. Throws ErrorKind::input if it is
  /// present with another kind.
  bool get_bool(std::string_view name, bool otherwise) const;
  int64_t get_int(std::string_view name, int64_t otherwise) const;
  double get_float(std::string_view name, double otherwise) const;  ///< an int is accepted
  std::string get_string(std::string_view name, std::string_view otherwise) const;
  DType get_dtype(std::string_view name, DType otherwise) const;
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> otherwise = {}) const;

  bool empty() const { return entries().empty(); }
  auto begin() const { return entries().begin(); }
  auto end() const { return entries().end(); }
  /// NaN equals NaN and 0.0 differs from -0.0: equality of programs, not of numbers.
  bool operator==(const Attributes& other) const;

 private:
  std::span<const Entry> entries() const {
    return entries_ ? std::span<const Entry>(*entries_) : std::span<const Entry>();
  }

  std::shared_ptr<std::vector<Entry>> entries_;  ///< null when there are none
};

}  // namespace graphc::core
