// SPDX-License-Identifier: Apache-2.0
// Runs the same workload in other frameworks, through tools/peers.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ir/precision.h"

namespace graphc::core::bench {

/// The arguments for tools/peers.
struct PeersRequest {
  std::string peers;  ///< "torch,jax"
  std::string model;
  std::vector<std::string> parameters;  ///< "hidden=512,1024"
  Precision precision = Precision::f32;
  int threads = 1;
  int64_t calls = 0;  ///< timed calls per turn; 0: the default of tools/peers
};

struct PeersResult {
  std::string table;            ///< Markdown
  nlohmann::ordered_json json;  ///< the output of `tools/peers --json`
  bool all_alike = true;        ///< false if a program did different work and was not timed
};

/// The path of tools/peers: in the source tree where a program was built (ROOT/build/PRESET/bin),
/// or where it is installed (PREFIX/bin). Throws ErrorKind::resource, naming both places.
std::filesystem::path find_peers(const std::filesystem::path& program);

/// A run of tools/peers, without installing anything.
class Peers {
 public:
  /// Finds tools/peers and checks that it supports this measurement. Throws ErrorKind::usage, in
  /// its words, for an unknown workload, parameter or peer; ErrorKind::resource if it is missing or
  /// no peer is installed.
  explicit Peers(PeersRequest request);

  /// Measures; its messages go to stderr. Throws ErrorKind::resource if it fails.
  PeersResult measure() const;

 private:
  std::vector<std::string> command(const std::vector<std::string>& more) const;

  PeersRequest request_;
  std::filesystem::path program_, folder_;  ///< tools/peers; the folder of graphc and graphc-bench
};

}  // namespace graphc::core::bench
