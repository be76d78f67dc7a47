// SPDX-License-Identifier: Apache-2.0
// Event files: the framing's checksums, and every figure of the log in the place of its step.
#include "frontend/tensorboard.h"

#include <gmock/gmock.h>

#include <bit>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/files/files.h"
#include "tests/testing/counts.h"
#include "tests/testing/temporary_folder.h"
#include "tests/testing/transcript.h"
#include "tests/tools/event_file.pb.h"
#include "tests/tools/shell.h"

namespace graphc::core {
namespace {

using graphc::core::testing::lines_of;
using graphc::core::testing::Ran;
using graphc::core::testing::run_bash;
using graphc::core::testing::TemporaryFolder;
using ::testing::HasSubstr;

TEST(TensorBoard, ChecksumsAreThoseOfTheStandard) {
  // RFC 3720, appendix B.4, and the check value of the catalogue of parameterised CRCs.
  EXPECT_EQ(crc32c("123456789"), 0xe3069283);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43);
  EXPECT_EQ(crc32c(""), 0u);
}

template <typename Number>
Number number_at(std::string_view bytes, size_t at) {
  Number number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// The events of a file, its checksums compared.
std::vector<event_file::Event> events_of(const std::string& bytes) {
  const auto unmasked = [](uint32_t masked) { return std::rotl(masked - 0xa282ead8, 15); };
  std::vector<event_file::Event> events;
  for (size_t at = 0; at < bytes.size();) {
    const auto length = number_at<uint64_t>(bytes, at);
    EXPECT_EQ(crc32c(std::string_view(bytes).substr(at, 8)),
              unmasked(number_at<uint32_t>(bytes, at + 8)));
    const std::string record = bytes.substr(at + 12, length);
    EXPECT_EQ(crc32c(record), unmasked(number_at<uint32_t>(bytes, at + 12 + length)));
    EXPECT_TRUE(events.emplace_back().ParseFromString(record));
    at += 12 + length + 4;
  }
  return events;
}

TEST(TensorBoard, HasTheFiguresOfTheLog) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "one two three four five\n";
  folder.add("text", text);
  const std::string train =
      "graphc train char-lm hidden=3 steps=6 batch=4 --target=reference --data text --log log "
      "--tensorboard board/run --checkpoint c --epochs 2 ";
  ASSERT_EQ(run_bash(train + "--max-steps 9 && " + train + "--resume", folder).code, 0);
  // One file for each of the two runs.
  std::vector<event_file::Event> events;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "board/run")) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::StartsWith("events.out.tfevents."));
    const auto more = events_of(read_file(entry.path()));
    ASSERT_GT(more.size(), 1u);
    EXPECT_EQ(more[0].file_version(), "brain.Event:2");
    events.insert(events.end(), more.begin() + 1, more.end());
  }
  std::map<std::pair<std::string, int64_t>, float> figures;
  for (const event_file::Event& event : events) {
    EXPECT_GT(event.wall_time(), 1.7e9);
    for (const auto& value : event.summary().value())
      figures[{value.tag(), event.step()}] = value.simple_value();
  }
  int64_t logged = 0;
  for (const std::string& line : lines_of(read_file(folder.path() / "log"))) {
    const auto event = nlohmann::json::parse(line);
    for (const auto& [name, value] : event.items()) {
      if (name == "event" || name == "epoch" || name == "step") continue;
      ++logged;
      if (name == "characters_per_s") continue;  // the epoch's is that of its last step
      EXPECT_EQ((figures.at({name, event["step"]})), float(value)) << line;
    }
  }
  EXPECT_GT(logged, 40);
  testing::count("logged figures", logged);
}

TEST(TensorBoard, AFolderThatCannotBeIsAnErrorBeforeTraining) {
  const TemporaryFolder folder;
  folder.add("file", "");
  const Ran ran = run_bash("graphc train lstm-layer hidden=2 --tensorboard file/board", folder);
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("cannot make the folder 'file/board'"));
}

}  // namespace
}  // namespace graphc::core
