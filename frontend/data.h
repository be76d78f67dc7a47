// SPDX-License-Identifier: Apache-2.0
// Data: inputs in the forms that programs have them: numbers, vectors, spans with a shape, NumPy
// files, memory of a GPU.
#pragma once

#include <concepts>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/device_tensor.h"

namespace graphc::core {

/// One input of a run, converted from an argument of the call: `session("train", x, y, 0.01)`.
///
/// A Tensor or a Literal keeps its type; a graph that declares another type refuses it. Other
/// arguments are converted to the declared type: floating-point numbers to any floating-point type,
/// integers to any number type. A floating-point number never becomes an integer. A number outside
/// the range of the declared type is an error: 300 as u8, or a finite number that would round to
/// infinity, such as 1e300 as f32. Otherwise floats are rounded, and so is an integer beyond 2^24
/// as f32. A DeviceTensor is for Session::run_on_device() and is not converted.
class Data {
 public:
  Data(const Tensor& tensor) : tensor_(tensor) {}
  Data(const DeviceTensor& tensor) : tensor_(tensor) {}
  Data(const Literal& literal) : tensor_(Tensor(literal)) {}

  /// A scalar.
  template <Number T>
  Data(T number) : Data(std::span<const T>(&number, 1), Shape{}) {}
  /// The elements in row-major order. Throws ErrorKind::input if their number does not match the
  /// shape.
  template <Number T>
  Data(std::span<const T> elements, const Shape& shape)
      : Data(dtype_of<T>(), std::as_bytes(elements), int64_t(elements.size()), shape) {
    if constexpr (dtype_of<T>() == DType::i64 && std::is_unsigned_v<T>) check_held_by_i64();
  }
  /// Of shape [n].
  template <Number T>
  Data(const std::vector<T>& elements) : Data(elements, {int64_t(elements.size())}) {}
  template <Number T>
  Data(const std::vector<T>& elements, const Shape& shape)
      : Data(std::span<const T>(elements), shape) {}
  Data(const std::vector<bool>& elements)
      : Data(std::vector<uint8_t>(elements.begin(), elements.end())) {
    tensor_ = Tensor(tensor().literal().converted(DType::boolean));
  }
  /// Rows of equal length, as shape [rows, columns]. Throws ErrorKind::input for rows of unequal
  /// length.
  template <Number T>
  Data(const std::vector<std::vector<T>>& rows) : Data(joined(rows), shape_of(rows)) {}
  /// Anything with a single result: `session("loss", session("predict", x))`.
  template <typename T>
    requires std::convertible_to<const T&, Tensor> && (!std::convertible_to<const T&, Literal>)
  Data(const T& result) : tensor_(static_cast<Tensor>(result)) {}

  /// A tensor that is converted to the declared type, as numbers are: for elements whose type the
  /// caller did not choose, such as those of an array of another language.
  static Data converting(const Tensor& tensor) {
    Data data(tensor);
    data.converts_ = true;
    return data;
  }

  /// The numbers. Throws ErrorKind::input if they are in the memory of a GPU, which is for
  /// Session::run_on_device().
  const Tensor& tensor() const;
  const AnyTensor& any() const { return tensor_; }
  const Type& type() const { return type_of(tensor_); }
  /// Whether it is converted to the declared type.
  bool converts() const { return converts_; }
  /// Whether it can be passed for an input declared with this dtype.
  bool fits(DType declared) const { return fits(type().dtype, declared, converts_); }
  static bool fits(DType found, DType declared, bool converts);

 private:
  friend Data npy(const std::filesystem::path& path);

  Data(DType dtype, std::span<const std::byte> bytes, int64_t elements, const Shape& shape);

  template <Number T>
  static std::vector<T> joined(const std::vector<std::vector<T>>& rows) {
    std::vector<T> all;
    for (const std::vector<T>& row : rows) {
      check_row(int64_t(&row - rows.data()), int64_t(row.size()), int64_t(rows[0].size()));
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  }
  template <Number T>
  static Shape shape_of(const std::vector<std::vector<T>>& rows) {
    return {int64_t(rows.size()), rows.empty() ? 0 : int64_t(rows[0].size())};
  }
  static void check_row(int64_t row, int64_t found, int64_t wanted);
  /// For unsigned 64-bit numbers: throws ErrorKind::input for 2^63 and above.
  void check_held_by_i64() const;

  AnyTensor tensor_;
  bool converts_ = false;
};

/// The array in a NumPy file. Throws ErrorKind::input naming the file and what is wrong with it.
Data npy(const std::filesystem::path& path);

/// A copy in the memory of a GPU, counted from 0: an input of Session::run_on_device() that need
/// not be brought there in every run. Throws ErrorKind::resource if there is no such GPU, or too
/// little memory.
DeviceTensor to_device(const Data& from, int device = 0);

/// Inputs of a graph by name, in any order: `{{"x", x}, {"y", y}}`.
using NamedData = std::vector<std::pair<std::string, Data>>;

/// The inputs in the order of `names`. Throws ErrorKind::input naming inputs that are missing,
/// unknown or repeated.
std::vector<Data> in_order(const NamedData& inputs, const std::vector<std::string>& names,
                           std::string_view graph);

}  // namespace graphc::core
