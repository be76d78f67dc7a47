// SPDX-License-Identifier: Apache-2.0
#include "models/program.h"

namespace graphc {

std::vector<Metric> Program::evaluate(Session&, const EvaluateOptions&) const {
  throw Error(ErrorKind::usage, {},
              "this model has nothing to be evaluated on: wanted one that trains on a corpus");
}

void Program::generate(Session&, const GenerateOptions&) const {
  throw Error(ErrorKind::usage, {},
              "this model draws no text: wanted a language model, such as char-lm");
}

}  // namespace graphc
