// SPDX-License-Identifier: Apache-2.0
// Where the inputs of benchmarks are.
#include "tools/bench/subject.h"
#include "tools/commands/commands.h"

namespace graphc::core::bench {

std::string_view name_of(Io io) {
  switch (io) {
    case Io::host:
      return "host";
    case Io::ahead:
      return "ahead";
    case Io::device:
      return "device";
  }
  return "";
}

Io io_named(const std::string& name) {
  for (const Io io : {Io::host, Io::ahead, Io::device}) {
    if (name == name_of(io)) return io;
  }
  throw commands::usage_error("--io: wanted host, ahead or device: found '{}'", name);
}

std::vector<Tensor> on_host(const std::vector<AnyTensor>& tensors) {
  std::vector<Tensor> here;
  for (const AnyTensor& tensor : tensors) here.push_back(std::get<Tensor>(tensor));
  return here;
}

}  // namespace graphc::core::bench
