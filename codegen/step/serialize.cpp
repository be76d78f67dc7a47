// SPDX-License-Identifier: Apache-2.0
#include "codegen/step/serialize.h"

#include <fmt/format.h>

#include <bit>
#include <concepts>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "codegen/step/fields.h"
#include "ir/error.h"

namespace graphc::core {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
concept IsVector = requires { typename T::value_type; } && !std::is_same_v<T, std::string> &&
                   std::is_same_v<T, std::vector<typename T::value_type>>;

template <typename Enum>
std::string_view word_of(Enum value) {
  if constexpr (count_of<Enum> > 0) {
    return name_of(value);
  } else {
    return enum_names<Enum>.at(size_t(value));
  }
}

template <typename Enum>
constexpr int size_of_enum() {
  return count_of<Enum> > 0 ? count_of<Enum> : int(enum_names<Enum>.size());
}

// --- writing ---

template <typename T>
Json json_of(const T& value);

/// Collects the fields of one object.
class Writer {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    all[name] = json_of(value);
  }
  void bytes(const char* name, const std::string& data) {
    std::string digits;
    for (const char byte : data) digits += fmt::format("{:02x}", uint8_t(byte));
    all[name] = std::move(digits);
  }
  void number(const char* name, const std::array<char, 8>& data) {
    all[name] = std::bit_cast<uint64_t>(data);
  }
  template <typename... Calls>
  void call(const std::variant<Calls...>& call) {
    all[std::string(kCallNames.at(call.index()))] =
        std::visit([](const auto& each) { return json_of(each); }, call);
  }

  Json all = Json::object();
};

/// All fields: those with default values as well.
template <typename T>
Json full_json_of(const T& value) {
  Writer writer;
  // fields() serves readers too, which change what it is given.
  fields(writer, const_cast<T&>(value));
  return std::move(writer.all);
}

template <typename T>
Json json_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(word_of(value));
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (IsVector<T>) {
    Json all = Json::array();
    for (const auto& each : value) all.push_back(json_of(each));
    return all;
  } else if constexpr (std::is_same_v<T, std::shared_ptr<const Address>>) {
    return value == nullptr ? Json() : json_of(*value);
  } else if constexpr (std::is_same_v<T, std::optional<Family>>) {
    return value ? json_of(*value) : Json();
  } else if constexpr (std::is_same_v<T, Shape>) {
    return std::vector<int64_t>(value.begin(), value.end());
  } else if constexpr (std::is_same_v<T, std::pair<std::string, int64_t>>) {
    return Json::array({value.first, value.second});
  } else if constexpr (std::is_same_v<T, std::array<int64_t, Shape::kMaxRank>>) {
    return value;
  } else if constexpr (std::is_same_v<T, Where>) {
    return value ? Json{value.file, value.line, value.column} : Json();
  } else {
    static const Json defaults = full_json_of(T{});
    Json all = full_json_of(value), kept = Json::object();
    for (auto& [name, each] : all.items()) {
      const auto usual = defaults.find(name);
      if (usual == defaults.end() || *usual != each) kept[name] = std::move(each);
    }
    return kept;
  }
}

// --- reading ---

/// Where a value stands, for messages: "records[3].nest.rows".
class Path {
 public:
  explicit Path(std::string text) : text_(std::move(text)) {}
  Path field(std::string_view name) const {
    return Path(text_.empty() ? std::string(name) : fmt::format("{}.{}", text_, name));
  }
  Path element(size_t i) const { return Path(fmt::format("{}[{}]", text_, i)); }

  [[noreturn]] void fail(std::string_view wanted, const Json& found) const {
    std::string text = found.dump();
    if (text.size() > 40) text = text.substr(0, 37) + "...";
    throw input_error({}, "step: {}: expected {}: found {}", text_.empty() ? "the text" : text_,
                      wanted, text);
  }

 private:
  std::string text_;
};

template <typename T>
void read(const Json& json, T& value, const Path& path);

class Reader {
 public:
  Reader(const Json& json, Path path) : json_(json), path_(std::move(path)) {
    if (!json.is_object()) path_.fail("an object", json);
  }

  template <typename T>
  void operator()(const char* name, T& value) {
    known_.insert(name);
    if (const auto found = json_.find(name); found != json_.end())
      read(*found, value, path_.field(name));
  }

  void bytes(const char* name, std::string& data) {
    std::string digits;
    (*this)(name, digits);
    const auto digit = [&](char c) {
      const size_t value = std::string_view("0123456789abcdef").find(c);
      if (value == std::string_view::npos) path_.field(name).fail("hexadecimal digits", digits);
      return value;
    };
    if (digits.size() % 2 != 0) path_.field(name).fail("pairs of hexadecimal digits", digits);
    for (size_t i = 0; i < digits.size(); i += 2)
      data += char(digit(digits[i]) * 16 + digit(digits[i + 1]));
  }

  void number(const char* name, std::array<char, 8>& data) {
    uint64_t bits = 0;
    (*this)(name, bits);
    data = std::bit_cast<std::array<char, 8>>(bits);
  }

  template <typename... Calls>
  void call(std::variant<Calls...>& call) {
    int found = 0;
    size_t index = 0;
    const auto alternative = [&]<typename Call>(Call made) {
      const std::string name(kCallNames.at(index++));
      known_.insert(name);
      const auto at = json_.find(name);
      if (at == json_.end()) return;
      ++found;
      read(*at, made, path_.field(name));
      call = std::move(made);
    };
    (alternative(Calls{}), ...);
    if (found != 1) path_.fail("one call (nest, panels, table, extern, loop or block)", json_);
  }

  /// Refuses fields that nobody asked for.
  void end() const {
    for (const auto& [name, each] : json_.items()) {
      if (!known_.contains(name)) path_.field(name).fail("no field of this name", each);
    }
  }

 private:
  const Json& json_;
  const Path path_;
  std::set<std::string> known_;
};

template <typename Number>
void read_number(const Json& json, Number& value, const Path& path) {
  if (json.is_number_unsigned() && std::in_range<Number>(json.get<uint64_t>())) {
    value = Number(json.get<uint64_t>());
  } else if (json.is_number_integer() && !json.is_number_unsigned() &&
             std::in_range<Number>(json.get<int64_t>())) {
    value = Number(json.get<int64_t>());
  } else {
    path.fail(fmt::format("an integer of {} bits", 8 * sizeof(Number)), json);
  }
}

template <typename Enum>
void read_enum(const Json& json, Enum& value, const Path& path) {
  std::string words;
  for (int i = 0; i < size_of_enum<Enum>(); ++i) {
    const std::string_view word = word_of(Enum(i));
    if (json.is_string() && json.get_ref<const std::string&>() == word) {
      value = Enum(i);
      return;
    }
    words += fmt::format("{}{}", i == 0 ? "" : ", ", word);
  }
  path.fail("one of " + words, json);
}

void read_where(const Json& json, Where& where, const Path& path) {
  const bool is_place = json.is_array() && json.size() == 3 && json[0].is_string() &&
                        json[1].is_number_integer() && json[2].is_number_integer();
  if (!is_place) path.fail("[file, line, column]", json);
  where.file = intern_file_name(json[0].get<std::string>());
  read_number(json[1], where.line, path.element(1));
  read_number(json[2], where.column, path.element(2));
}

template <typename T>
void read(const Json& json, T& value, const Path& path) {
  if constexpr (std::is_enum_v<T>) {
    read_enum(json, value, path);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) path.fail("true or false", json);
    value = json.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    read_number(json, value, path);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) path.fail("a string", json);
    value = json.get<std::string>();
  } else if constexpr (IsVector<T>) {
    if (!json.is_array()) path.fail("a list", json);
    value.clear();
    for (size_t i = 0; i < json.size(); ++i) read(json[i], value.emplace_back(), path.element(i));
  } else if constexpr (std::is_same_v<T, std::shared_ptr<const Address>>) {
    Address address;
    read(json, address, path);
    value = std::make_shared<const Address>(std::move(address));
  } else if constexpr (std::is_same_v<T, std::optional<Family>>) {
    read(json, value.emplace(), path);
  } else if constexpr (std::is_same_v<T, Shape>) {
    std::vector<int64_t> extents;
    read(json, extents, path);
    value = Shape(std::span<const int64_t>(extents));
  } else if constexpr (std::is_same_v<T, std::pair<std::string, int64_t>>) {
    if (!json.is_array() || json.size() != 2) path.fail("[name, number]", json);
    read(json[0], value.first, path.element(0));
    read(json[1], value.second, path.element(1));
  } else if constexpr (std::is_same_v<T, std::array<int64_t, Shape::kMaxRank>>) {
    if (!json.is_array() || json.size() != value.size())
      path.fail(fmt::format("a list of {} integers", value.size()), json);
    for (size_t i = 0; i < value.size(); ++i) read(json[i], value[i], path.element(i));
  } else if constexpr (std::is_same_v<T, Where>) {
    read_where(json, value, path);
  } else {
    Reader reader(json, path);
    fields(reader, value);
    reader.end();
  }
}

}  // namespace

std::string step_text(const Plan& plan) { return json_of(plan).dump(1) + "\n"; }

Plan parse_step(std::string_view text) {
  // Of loops in loops a few levels are in use; more would only exhaust the stack of those who read.
  static constexpr int kMostLevels = 200;
  const auto limit = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kMostLevels)
      throw input_error({}, "step: expected at most {} levels of objects and lists", kMostLevels);
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, limit);
  } catch (const Json::exception& error) {
    throw input_error({}, "step: not JSON: {}", error.what());
  }
  Plan plan;
  read(json, plan, Path(""));
  check_step(plan);
  return plan;
}

}  // namespace graphc::core
