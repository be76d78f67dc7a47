// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/text/text_shape.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <unordered_map>

namespace graphc::core::cuda {
namespace {

/// Words of types: a name behind one of them is declared there.
constexpr std::array<std::string_view, 10> kTypes = {"bool", "char",  "double", "float",    "int",
                                                     "long", "short", "signed", "unsigned", "void"};

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }

class Shaping {
 public:
  explicit Shaping(const KernelText& kernel) : kernel_(kernel.name), text_(kernel.text) {
    shape_.reserve(text_.size());
  }

  std::string run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"') {
        take(end_of_string());
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        // With its suffix, which is no name.
        take(end_of([](char each) { return is_of_name(each) || each == '.'; }));
      } else if (begins_name(c)) {
        name(text_.substr(at_, end_of(is_of_name) - at_));
      } else if (is_space(c)) {
        at_ = end_of(is_space);
        if (!shape_.empty() && shape_.back() != ' ') shape_ += ' ';
      } else {
        mark(c);
      }
    }
    return std::move(shape_);
  }

 private:
  template <typename Belongs>
  size_t end_of(const Belongs& belongs) const {
    size_t end = at_;
    while (end < text_.size() && belongs(text_[end])) ++end;
    return end;
  }
  size_t end_of_string() const {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text_.size());
  }
  void take(size_t end) {
    shape_ += text_.substr(at_, end - at_);
    at_ = end;
    behind_type_ = is_member_ = false;
  }

  void mark(char c) {
    if (c == '{') ++depth_;
    // Parameters and variables of a function end with it.
    if (c == '}' && --depth_ == 0) own_.clear();
    // "float* x" declares a name, "(float)x" does not.
    behind_type_ &= c == '*';
    is_member_ = c == '.';
    shape_ += c;
    ++at_;
  }

  void name(std::string_view word) {
    at_ += word.size();
    const bool declares = behind_type_, is_member = is_member_;
    behind_type_ = std::ranges::find(kTypes, word) != kTypes.end() ||
                   (behind_type_ && (word == "const" || word == "__restrict__"));
    is_member_ = false;
    if (is_member || behind_type_) {
      shape_ += word;
    } else if (const auto own = own_.find(word); own != own_.end()) {
      shape_ += own->second;
    } else if (declares && depth_ == 0 && at_ < text_.size() && text_[at_] == '(') {
      shape_ += functions_.emplace(word, number('f', functions_.size())).first->second;
    } else if (declares) {
      shape_ += own_.emplace(word, number('v', own_.size())).first->second;
    } else if (const auto function = functions_.find(word); function != functions_.end()) {
      shape_ += function->second;
    } else {
      shape_ += word == kernel_ ? "@" : word;
    }
  }
  /// No text has these marks.
  static std::string number(char kind, size_t count) {
    return '@' + (kind + std::to_string(count));
  }

  const std::string_view kernel_, text_;
  std::string shape_;
  size_t at_ = 0;
  int depth_ = 0;
  bool behind_type_ = false;  ///< whether the next name is declared
  bool is_member_ = false;    ///< whether it is that of a member: "threadIdx.x"
  std::unordered_map<std::string_view, std::string> functions_, own_;
};

}  // namespace

std::string shape_of(const KernelText& kernel) { return Shaping(kernel).run(); }

}  // namespace graphc::core::cuda
