// SPDX-License-Identifier: Apache-2.0
// Tables of numbers, dates and categories.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "frontend/python/src/arrays.h"
#include "frontend/python/src/bindings.h"

namespace graphc::core::python {
namespace {

const char* word_of(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::date:
      return "date";
    case ColumnKind::category:
      return "category";
    case ColumnKind::number:
      break;
  }
  return "number";
}

char decimal_of(const std::string& text, Where where) {
  if (text.empty()) return 0;
  if (text == "." || text == ",") return text[0];
  throw input_error(where, "read_table: decimal: wanted '.' or ',': found '{}'", text);
}

void bind_read_table(nb::module_& module) {
  module.def(
      "read_table",
      [](const std::filesystem::path& path, const std::vector<std::string>& columns,
         const std::string& encoding, const std::string& decimal, std::optional<bool> names,
         const std::string& missing) {
        const TableOptions options{.encoding = encoding,
                                   .decimal = decimal_of(decimal, python_line()),
                                   .names = names,
                                   .missing = missing_of(missing)};
        const nb::gil_scoped_release others;
        return read_table(path, columns, options);
      },
      nb::arg("path"), nb::arg("columns") = std::vector<std::string>(), nb::kw_only(),
      nb::arg("encoding") = "", nb::arg("decimal") = "", nb::arg("names") = nb::none(),
      nb::arg("missing") = "refuse",
      nb::sig("def read_table(path: str, columns: collections.abc.Sequence[str] = (), *, "
              "encoding: str = '', decimal: str = '', names: bool | None = None, "
              "missing: str = 'refuse') -> Table"),
      "Reads columns of delimited text or of a .npy file.\n\n"
      "`columns` are names, or numbers from 1, of a kind: \"load\", \"time:date\", "
      "\"site:category\"; all\nof them by default. Separators, the line of names and the decimal "
      "point are found; `names`,\n`decimal` and `encoding` say them. `missing` cells: 'refuse', "
      "'mean', 'previous', 'drop' or\n'mask'. docs/tables.md says more.");
}

}  // namespace

void bind_tables(nb::module_& module) {
  nb::class_<TableColumn>(module, "TableColumn", "A column: a value for each row.")
      .def_ro("name", &TableColumn::name)
      .def_prop_ro(
          "kind", [](const TableColumn& self) { return word_of(self.kind); },
          "'number', 'date' or 'category'.")
      .def_prop_ro(
          "values",
          [](const TableColumn& self) {
            return array_of(Tensor(
                Literal(std::span<const double>(self.values), {int64_t(self.values.size())})));
          },
          nb::for_getter(nb::sig("def values(self) -> numpy.ndarray")),
          "float64: numbers; seconds since 1970-01-01 00:00 in the local time of the file; indices "
          "into `categories`. NaN is a missing cell.")
      .def_ro("categories", &TableColumn::categories, "In the order of their first rows.");
  nb::class_<Table>(module, "Table", "Columns of equal length, as read_table() gives them.")
      .def_prop_ro("rows", &Table::rows)
      .def_ro("columns", &Table::columns)
      .def_ro("remarks", &Table::remarks, "What was assumed, and how many cells are missing.")
      .def("__len__", &Table::rows)
      .def(
          "__getitem__",
          [](const Table& self, const std::string& name) -> const TableColumn& {
            return self[name];
          },
          nb::rv_policy::reference_internal, nb::arg("name"), "The column of this name.")
      .def(
          "f32",
          [](const Table& self, const std::vector<std::string>& names) {
            return array_of(self.f32(names));
          },
          nb::arg("names") = std::vector<std::string>(),
          nb::sig("def f32(self, names: collections.abc.Sequence[str] = ()) -> numpy.ndarray"),
          "These columns, or all, as float32 [rows, columns].")
      .def(
          "known",
          [](const Table& self, const std::vector<std::string>& names) {
            return array_of(self.known(names));
          },
          nb::arg("names") = std::vector<std::string>(),
          nb::sig("def known(self, names: collections.abc.Sequence[str] = ()) -> numpy.ndarray"),
          "float32 [rows, columns]: 1 where there is a value, 0 where it is missing.")
      .def("__repr__", [](const Table& self) {
        std::vector<std::string> names;
        for (const TableColumn& column : self.columns) names.push_back(column.name);
        return fmt::format("<graphc.Table '{}': {} rows of {}>", self.file, self.rows(),
                           fmt::join(names, ", "));
      });
  bind_read_table(module);
}

}  // namespace graphc::core::python
