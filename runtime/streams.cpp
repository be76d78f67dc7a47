// SPDX-License-Identifier: Apache-2.0
#include "runtime/streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <string>

#include "ir/utf8.h"

namespace graphc::core {
namespace {

/// During its lifetime, a broken pipe is an error of write(2) on this thread, not a signal.
class WithoutBrokenPipes {
 public:
  WithoutBrokenPipes() {
    sigset_t waiting;
    sigemptyset(&waiting);
    sigpending(&waiting);
    // A signal that was pending before is not ours to consume.
    if (sigismember(&waiting, SIGPIPE) == 1) return;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    blocked_ = pthread_sigmask(SIG_BLOCK, &pipe_, &before_) == 0;
  }
  ~WithoutBrokenPipes() {
    if (!blocked_) return;
    const timespec at_once{};
    if (broken) {
      while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutBrokenPipes(const WithoutBrokenPipes&) = delete;

  bool broken = false;

 private:
  sigset_t pipe_, before_;
  bool blocked_ = false;
};

}  // namespace

void write_stderr(std::string_view text) noexcept {
  WithoutBrokenPipes pipes;
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    pipes.broken |= count < 0 && errno == EPIPE;
    if (count <= 0) return;
    text.remove_prefix(size_t(count));
  }
}

void write_message(std::string_view line) noexcept {
  try {
    write_stderr(printable_lines(line) + "\n");
  } catch (const std::exception&) {
    write_stderr("error: out of memory for a message\n");
  }
}

void open_closed_streams() noexcept {
  // In this order, because open(2) returns the lowest free descriptor.
  for (const auto& [stream, mode] :
       {std::pair{STDIN_FILENO, O_WRONLY}, {STDOUT_FILENO, O_RDONLY}, {STDERR_FILENO, O_RDWR}}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    if (open("/dev/null", mode) != stream) return;  // there is no /dev/null; nothing is lost
  }
}

void survive_file_limits() noexcept { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace graphc::core
