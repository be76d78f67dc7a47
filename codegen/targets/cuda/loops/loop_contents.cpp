// SPDX-License-Identifier: Apache-2.0
#include "codegen/targets/cuda/loops/loop_contents.h"

#include "codegen/targets/cuda/loops/counted_text.h"

namespace graphc::core::cuda {

void LoopContents::write(TextWriter& before) const {
  for (const ResidentMatrix& matrix : placement_.resident) write_resident(before, matrix);
  for (const ExchangedOperand& operand : placement_.exchanged)
    write_exchange(before, operand.exchange);
  if (placement_.counted == nullptr) return;
  for (const CountedProduct& product : placement_.counted->products) write_counted(before, product);
}

void LoopContents::bind_right(TextWriter& before, size_t nest, size_t product) const {
  for (const Parameter& parameter : nests_[nest].parameters) {
    if (parameter.kind == ParameterKind::right && parameter.index == int(product))
      before.line("{} {} = {};", parameter.type, parameter.name, bases_.at(parameter.name));
  }
}

void LoopContents::write_resident(TextWriter& before, const ResidentMatrix& matrix) const {
  const LoopNest& nest = nests_[matrix.nest];
  const NestForm& form = placement_.nests[matrix.nest].form;
  before.line("{0}* {1} = &shared[{1}_at];", register_type_text(placement_.dtype),
              form.resident_name(matrix.product));
  before.open_block();
  ranges_.bring_columns(before, matrix.nest);
  bind_right(before, matrix.nest, matrix.product);
  before.lines(internal::resident_text(*nest.program, nest.parameters, form, int(matrix.product)));
  before.close();
}

/// The operand's content for the first step.
void LoopContents::write_exchange(TextWriter& before, const Exchange& exchange) const {
  before.open_block();
  ranges_.bring(before, exchange.nest);
  before.lines(internal::exchange_text(
      *nests_[exchange.nest].program, nests_[exchange.nest].parameters,
      placement_.nests[exchange.nest].form, int(exchange.product), exchange.next_step));
  before.close();
}

void LoopContents::write_counted(TextWriter& before, const CountedProduct& product) const {
  const LoopNest& nest = nests_[product.nest];
  before.open_block();
  ranges_.bring(before, product.nest);
  bind_right(before, product.nest, product.product);
  internal::write_right_fragments(before, *placement_.counted, product, *nest.program,
                                  nest.parameters, placement_.nests[product.nest].form);
  internal::write_left_fragments(before, *placement_.counted, product, *nest.program,
                                 nest.parameters);
  before.close();
}

}  // namespace graphc::core::cuda
