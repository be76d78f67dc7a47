// SPDX-License-Identifier: Apache-2.0
#include "models/program.h"

namespace graphc {

void Program::generate(Session&, const GenerateOptions&) const {
  throw Error(ErrorKind::usage, {},
              "this model draws no text: wanted a language model, char-lm or ptb-lm");
}

}  // namespace graphc
