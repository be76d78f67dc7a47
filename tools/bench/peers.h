// SPDX-License-Identifier: Apache-2.0
// The same workload in other frameworks: what tools/peers says of it, beside a benchmark.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace graphc::core::bench {

/// What tools/peers is asked to compare.
struct PeersRequest {
  std::string peers;  ///< "torch,jax"
  std::string model;
  std::vector<std::string> parameters;  ///< "hidden=512,1024"
  std::string precision = "f32";
  int threads = 1;
  int64_t calls = 0;  ///< timed calls of a turn; 0: as many as tools/peers makes
};

struct PeersResult {
  std::string table;            ///< in Markdown
  nlohmann::ordered_json json;  ///< what `tools/peers --json` writes
  bool all_alike = true;        ///< false where a program did other work, and was not timed
};

/// tools/peers of the source tree in which a program was built (ROOT/build/PRESET/bin), or of where
/// it is installed (PREFIX/bin). Throws ErrorKind::resource, naming both places.
std::filesystem::path find_peers(const std::filesystem::path& program);

/// A run of tools/peers, which installs nothing.
class Peers {
 public:
  /// Finds the program and asks it whether it would measure this. Throws ErrorKind::usage in its
  /// words for a workload, parameter or peer that it does not have, ErrorKind::resource where it is
  /// not there or none of the peers is installed.
  explicit Peers(PeersRequest request);

  /// Measures; its messages go to stderr. Throws ErrorKind::resource when it fails.
  PeersResult measure() const;

 private:
  std::vector<std::string> command(const std::vector<std::string>& more) const;

  PeersRequest request_;
  std::filesystem::path program_, folder_;  ///< tools/peers; where graphc and graphc-bench are
};

}  // namespace graphc::core::bench
