// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/peers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "ir/error.h"

namespace graphc::core::bench {
namespace {

namespace filesystem = std::filesystem;

/// Closes a descriptor at the end of its lifetime.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {
    if (number < 0) throw resource_error("no further file can be opened: {}", strerror(errno));
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(number_); }

  int number() const { return number_; }

 private:
  int number_;
};

/// Reads to the end.
std::string read_all(const Descriptor& from) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t count = read(from.number(), piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece, size_t(count));
  }
}

struct Ended {
  int code = 0;  ///< 128 plus the signal's number if a signal ended it
  std::string out;
};

enum class Messages { to_stderr, with_output };

/// Runs a program to completion. If this process ends first, the program is terminated.
Ended run(const std::vector<std::string>& command, Messages messages) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  const Descriptor from(ends[0]);
  std::optional<Descriptor> to(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(to->number(), STDOUT_FILENO);
    if (messages == Messages::with_output) dup2(to->number(), STDERR_FILENO);
    execv(words[0], words.data());
    _exit(127);
  }
  if (child < 0) throw resource_error("'{}' cannot be started: {}", command[0], strerror(errno));
  to.reset();
  Ended ended{.out = read_all(from)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

/// The last line of a program's output, without its name.
std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "no reason given";
  // For a single line, npos + 1 is its start.
  const size_t begin = text.find_last_of('\n', end) + 1;
  std::string line = text.substr(begin, end + 1 - begin);
  for (const std::string_view head : {"peers: ", "error: ", "--with: "}) {
    if (line.starts_with(head)) line.erase(0, head.size());
  }
  return line;
}

}  // namespace

filesystem::path find_peers(const filesystem::path& program) {
  const filesystem::path folder = program.parent_path(), above = folder.parent_path();
  const filesystem::path built = above.parent_path().parent_path() / "tools" / "peers";
  const filesystem::path installed = above / "share" / "graphc" / "tools" / "peers";
  for (const filesystem::path& place : {built, installed}) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  throw resource_error("--peers: there is no program {} or {}", built.string(), installed.string());
}

Peers::Peers(PeersRequest request) : request_(std::move(request)) {
  const filesystem::path self = filesystem::read_symlink("/proc/self/exe");
  program_ = find_peers(self);
  folder_ = self.parent_path();
  const Ended ended = run(command({"--dry-run"}), Messages::with_output);
  if (ended.code == 0) return;
  throw Error(ended.code == int(ErrorKind::usage) ? ErrorKind::usage : ErrorKind::resource, {},
              fmt::format("--peers: {}", last_line(ended.out)));
}

PeersResult Peers::measure() const {
  // In memory, so that nothing is left behind however this ends.
  const Descriptor json(memfd_create("graphc-peers", 0));
  const Ended ended =
      run(command({fmt::format("--json=/dev/fd/{}", json.number())}), Messages::to_stderr);
  const bool all_alike = ended.code != int(ErrorKind::check);
  if (ended.code != 0 && all_alike)
    throw resource_error("--peers: {} ended with exit code {}", program_.string(), ended.code);
  PeersResult result{.table = ended.out, .json = {}, .all_alike = all_alike};
  lseek(json.number(), 0, SEEK_SET);
  result.json = nlohmann::ordered_json::parse(read_all(json), nullptr, false);
  if (result.json.is_discarded())
    throw resource_error("--peers: {} wrote no JSON", program_.string());
  return result;
}

std::vector<std::string> Peers::command(const std::vector<std::string>& more) const {
  std::vector<std::string> words{program_.string(),
                                 request_.model,
                                 "--with=" + request_.peers,
                                 fmt::format("--precision={}", name_of(request_.precision)),
                                 fmt::format("--threads={}", request_.threads),
                                 "--programs=" + folder_.string(),
                                 "--no-install"};
  words.insert(words.begin() + 2, request_.parameters.begin(), request_.parameters.end());
  if (request_.calls > 0) words.push_back(fmt::format("--calls={}", request_.calls));
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace graphc::core::bench
