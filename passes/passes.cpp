// SPDX-License-Identifier: Apache-2.0
#include "passes/passes.h"

#include "ir/spelling.h"

namespace graphc::core {
namespace {

constexpr const Pass* listed_passes[] = {
    &passes::align_axes,        //
    &passes::autodiff,          //
    &passes::chunk,             //
    &passes::chunk_recurrence,  //
    &passes::collectives,       //
    &passes::cse,               //
    &passes::expand,            //
    &passes::fuse,              //
    &passes::hoist,             //
    &passes::outline,           //
    &passes::pack_matmuls,      //
    &passes::precision,         //
    &passes::reductions,        //
    &passes::remat,             //
    &passes::replicate,         //
    &passes::reroll,            //
    &passes::row_operands,      //
    &passes::simplify,          //
    &passes::sparse_rows,       //
    &passes::split_axes,        //
    &passes::unroll,            //
    &passes::vector_products,   //
};

}  // namespace

std::span<const Pass* const> all_passes() { return listed_passes; }

const Pass& find_pass(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Pass* pass : listed_passes) {
    if (pass->name == name) return *pass;
    names.push_back(pass->name);
  }
  const std::string_view nearest = nearest_word(name, names);
  throw Error(ErrorKind::usage, {},
              nearest.empty()
                  ? fmt::format("there is no pass '{}'", name)
                  : fmt::format("there is no pass '{}'; did you mean '{}'?", name, nearest));
}

}  // namespace graphc::core
