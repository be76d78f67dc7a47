// SPDX-License-Identifier: Apache-2.0
// Reads with system calls: the standard streams do not report why something failed.
#include "runtime/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <stdexcept>

#include "runtime/files/descriptor.h"

namespace graphc::core {
namespace {

/// A file to read: its name in errors, the size announced by the system, and the limit.
struct Source {
  int descriptor;
  const std::filesystem::path& path;
  size_t announced, most;
};

Error too_long(const Source& source, bool at_least, size_t bytes) {
  return input_error({}, "cannot read '{}': it has {}{} bytes: wanted at most {}",
                     source.path.string(), at_least ? "more than " : "", bytes, source.most);
}

/// Reads to the end, whatever size was announced: pipes announce none.
std::string read_all(const Source& source) {
  std::string content;
  content.resize(std::min(source.announced, source.most) + 1);
  for (size_t length = 0;;) {
    if (length > source.most) throw too_long(source, true, source.most);
    if (length == content.size())
      content.resize(std::min(content.size() * 2, std::max(source.most, length) + 1));
    const ssize_t count = read(source.descriptor, content.data() + length, content.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot_read(source.path, errno);
    if (count == 0) {
      content.resize(length);
      return content;
    }
    length += size_t(count);
  }
}

/// Reads an open file. `most` limits sources without a length, which may be endless.
std::string read_open(int descriptor, const std::filesystem::path& path, size_t most) {
  struct stat status;
  if (fstat(descriptor, &status) < 0) throw cannot_read(path, errno);
  const bool regular = S_ISREG(status.st_mode);
  const size_t announced = regular ? size_t(status.st_size) : 4096;
  const Source source{descriptor, path, announced,
                      std::min(most, std::max(announced, kMostOfStream))};
  if (regular && announced > most) throw too_long(source, false, announced);
  const auto memory = size_t(sysconf(_SC_PHYS_PAGES)) * size_t(sysconf(_SC_PAGESIZE));
  const Error no_memory =
      resource_error("no memory to read '{}' of {} bytes", path.string(), announced);
  // Linux grants any allocation and kills the process when it writes to memory that does not exist.
  if (announced > memory) throw no_memory;
  try {
    return read_all(source);
  } catch (const std::bad_alloc&) {
    throw no_memory;
  } catch (const std::length_error&) {
    throw no_memory;
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path, size_t most) {
  const Descriptor file(open_again(path, O_RDONLY));
  if (file.value < 0) throw cannot_read(path, errno);
  return read_open(file.value, path, most);
}

void read_pieces(const std::filesystem::path& path, size_t piece,
                 const std::function<void(std::string_view)>& take) {
  const Descriptor file(open_again(path, O_RDONLY));
  struct stat status;
  if (file.value < 0 || fstat(file.value, &status) < 0) throw cannot_read(path, errno);
  const size_t most = S_ISREG(status.st_mode) ? SIZE_MAX : kMostOfStream;
  std::string bytes(piece, '\0');
  for (size_t length = 0;;) {
    const ssize_t count = read(file.value, bytes.data(), piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot_read(path, errno);
    if (count == 0) return;
    length += size_t(count);
    if (length > most) throw too_long({file.value, path, 0, most}, true, most);
    take(std::string_view(bytes).substr(0, size_t(count)));
  }
}

std::string read_stdin(size_t most) { return read_open(STDIN_FILENO, "<stdin>", most); }

}  // namespace graphc::core
