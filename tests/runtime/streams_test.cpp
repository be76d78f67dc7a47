// SPDX-License-Identifier: Apache-2.0
// Messages that cannot be written, and standard streams that are closed.
#include "runtime/streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "runtime/files/files.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using testing::TemporaryFolder;

/// The exit code of a process of its own that does `work`; -1 when a signal ended it.
int in_a_process(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Streams, AMessageIsALineThatSteersNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.add("err", "").string();
  EXPECT_EQ(in_a_process([&] {
              dup2(open(path.c_str(), O_WRONLY), STDERR_FILENO);
              write_message("a\x1b[2J\n  note: b");
              write_stderr("\r\x1b[K");
              return 0;
            }),
            0);
  EXPECT_EQ(read_file(path), "a\\x1b[2J\n  note: b\n\r\x1b[K");
}

TEST(Streams, AMessageThatCannotBeWrittenIsLost) {
  EXPECT_EQ(in_a_process([] {
              dup2(open("/dev/full", O_WRONLY), STDERR_FILENO);
              write_message("nobody reads this");
              return 7;
            }),
            7);
  EXPECT_EQ(in_a_process([] {
              close(STDERR_FILENO);
              write_message("nobody reads this");
              return 7;
            }),
            7);
  EXPECT_EQ(in_a_process([] {
              int ends[2];
              if (pipe(ends) < 0) return 1;
              close(ends[0]);
              dup2(ends[1], STDERR_FILENO);
              write_message("nobody reads this");
              // The signal is not put off either, and comes for all else.
              sigset_t waiting;
              sigpending(&waiting);
              if (sigismember(&waiting, SIGPIPE) == 1) return 2;
              sigset_t blocked;
              pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
              return sigismember(&blocked, SIGPIPE) == 1 ? 3 : 7;
            }),
            7);
}

TEST(Streams, OneThatIsClosedIsNoFileThatIsOpenedLater) {
  const TemporaryFolder folder;
  const std::string path = folder.add("data", "data").string();
  for (int closed = 1; closed < 8; ++closed) {
    EXPECT_EQ(in_a_process([&] {
                for (int stream = 0; stream < 3; ++stream) {
                  if ((closed >> stream & 1) != 0) close(stream);
                }
                open_closed_streams();
                return open(path.c_str(), O_RDWR) > STDERR_FILENO ? 7 : 1;
              }),
              7)
        << closed;
  }
}

TEST(Streams, OneThatIsClosedFailsAsIfItWereStillClosed) {
  EXPECT_EQ(in_a_process([] {
              for (int stream = 0; stream < 3; ++stream) close(stream);
              open_closed_streams();
              char byte = 0;
              if (read(STDIN_FILENO, &byte, 1) >= 0 || errno != EBADF) return 1;
              if (write(STDOUT_FILENO, &byte, 1) >= 0 || errno != EBADF) return 2;
              return write(STDERR_FILENO, &byte, 1) == 1 ? 7
                                                         : 3;  // libraries of others write there
            }),
            7);
}

TEST(Streams, ThoseThatAreOpenStay) {
  EXPECT_EQ(in_a_process([] {
              const off_t before = fcntl(STDOUT_FILENO, F_GETFL);
              open_closed_streams();
              return fcntl(STDOUT_FILENO, F_GETFL) == before ? 7 : 1;
            }),
            7);
}

}  // namespace
}  // namespace graphc::core
