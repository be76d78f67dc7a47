// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "tools/commands/commands.h"

namespace graphc::core::commands {
namespace {

constexpr off_t kLongestTail = 1 << 20;
constexpr std::string_view kLineBegins = R"({"event":)";

Error cannot_write_log(const std::string& path) {
  return resource_error("{}: {}", path, std::strerror(errno));
}

/// Makes the file end with a complete line: removes an incomplete event, terminates other text.
void end_last_line(std::FILE* file) {
  const int descriptor = fileno(file);
  struct stat status;
  if (fstat(descriptor, &status) < 0 || !S_ISREG(status.st_mode)) return;
  std::string tail(size_t(std::min<off_t>(status.st_size, kLongestTail)), '\0');
  const off_t begin = status.st_size - off_t(tail.size());
  if (pread(descriptor, tail.data(), tail.size(), begin) != ssize_t(tail.size())) return;
  const size_t line = tail.rfind('\n') + 1;  // 0 if there is no line end
  if (line == tail.size()) return;
  const std::string_view rest = std::string_view(tail).substr(line);
  const size_t shown = std::min(rest.size(), kLineBegins.size());
  if (rest.substr(0, shown) == kLineBegins.substr(0, shown)) {
    if (ftruncate(descriptor, begin + off_t(line)) == 0) return;
  }
  std::fputc('\n', file);
}

}  // namespace

Log::Log(const std::string& path, bool goes_on) : path_(path) {
  if (path.empty() || path == "-") return;
  file_ = std::fopen(path.c_str(), goes_on ? "a+e" : "ae");
  // A pipe or another write-only file has nothing to resume from.
  if (file_ == nullptr && goes_on) file_ = std::fopen(path.c_str(), "ae");
  if (file_ == nullptr) throw cannot_write_log(path);
  if (goes_on) end_last_line(file_);
  begins_anew_ = !goes_on;
}

Log::~Log() {
  if (file_ != nullptr) std::fclose(file_);
}

void Log::write(const TrainEvent& event) {
  if (path_.empty()) return;
  nlohmann::ordered_json line{
      {"event", event.event}, {"epoch", event.epoch + 1}, {"step", event.step}};
  for (const Metric& metric : event.figures()) {
    GRAPHC_CHECK(!line.contains(metric.name), "an event has '{}' twice", metric.name);
    line[metric.name] = metric.value;
  }
  if (!event.waited_s.empty()) line["waited_s"] = event.waited_s;
  if (!event.gradients.empty()) line["gradients"] = event.gradients;
  if (!event.text.empty()) line["text"] = event.text;
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // A file that is not regular has nothing to lose.
  if (std::exchange(begins_anew_, false) && file_ != nullptr) (void)!ftruncate(fileno(file_), 0);
  if (path_ == "-") {
    write_stdout(text);
  } else if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() ||
             std::fflush(file_) != 0) {
    throw cannot_write_log(path_);
  }
}

}  // namespace graphc::core::commands
