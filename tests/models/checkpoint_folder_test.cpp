// SPDX-License-Identifier: Apache-2.0
// Damaged checkpoints are found, whatever is wrong with them, and the newest whole one is used.
#include "models/checkpoint_folder.h"

#include <gmock/gmock.h>

#include "frontend/graphc.h"
#include "models/registry.h"
#include "runtime/files/files.h"
#include "tests/testing/counts.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CheckpointsInAFolder : public ::testing::Test {
 protected:
  void save(CheckpointFolder& to, int64_t step) {
    to.save(*program_, session_, name_, {.step = step}, {{"vocabulary", "a b"}});
  }
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  void damage(const std::string& name) {
    std::string bytes = read_file(file(name));
    bytes.back() = char(bytes.back() ^ 1);
    write_file_atomically(file(name), bytes);
  }
  /// Names of the checkpoints, newest first.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& path : checkpoint_files(folder_.path()))
      found.push_back(path.filename().string());
    return found;
  }

  const TemporaryFolder folder_;
  std::string name_;
  std::unique_ptr<Program> program_ =
      make_program("lstm-layer", {"hidden=1", "steps=1", "batch=1"}, &name_);
  Session session_{program_->model(), {.target = "reference"}};
};

TEST_F(CheckpointsInAFolder, AreKeptInTheNumberAskedFor) {
  CheckpointFolder folder(folder_.path(), 3);
  EXPECT_EQ(folder.resume(), std::nullopt);
  for (int64_t step : {5, 10, 10, 90, 100}) save(folder, step);
  EXPECT_THAT(names(), ElementsAre("checkpoint.safetensors", "checkpoint.90.safetensors",
                                   "checkpoint.10.safetensors"));
  EXPECT_EQ(read_checkpoint(folder_.path()).position.step, 100);
  EXPECT_EQ(read_checkpoint(file("checkpoint.90.safetensors")).position.step, 90);
  // Another process goes on with the same folder, and keeps fewer.
  CheckpointFolder next(folder_.path(), 1);
  EXPECT_EQ(next.resume()->position.step, 100);
  save(next, 110);
  EXPECT_THAT(names(), ElementsAre("checkpoint.safetensors"));
}

TEST_F(CheckpointsInAFolder, WhatIsNotNamedAsOneIsLeftAlone) {
  const std::vector<std::string> others{"checkpoint.x.safetensors",
                                        "checkpoint.01.safetensors",
                                        "checkpoint.-1.safetensors",
                                        "checkpoint..safetensors",
                                        "notes.txt",
                                        "my checkpoint.1.safetensors"};
  for (const std::string& name : others) folder_.add(name, "mine");
  CheckpointFolder folder(folder_.path(), 1);
  for (int64_t step : {1, 2, 3}) save(folder, step);
  EXPECT_THAT(names(), ElementsAre("checkpoint.safetensors"));
  for (const std::string& name : others) EXPECT_EQ(read_file(file(name)), "mine") << name;
}

TEST_F(CheckpointsInAFolder, TheNewestWholeOneIsUsedAndTheOthersAreNamed) {
  CheckpointFolder folder(folder_.path(), 4);
  for (int64_t step : {1, 2, 3, 4}) save(folder, step);
  damage("checkpoint.safetensors");
  folder_.add("checkpoint.3.safetensors", "");
  const Checkpoint found = read_checkpoint(folder_.path());
  EXPECT_EQ(found.position.step, 2);
  ASSERT_THAT(found.passed_over, SizeIs(2));
  EXPECT_THAT(found.passed_over[0].fault,
              AllOf(HasSubstr("checkpoint.safetensors"), HasSubstr("it is damaged")));
  EXPECT_THAT(found.passed_over[1].fault, HasSubstr("checkpoint.3.safetensors"));
  // Reading changes nothing; a training sets aside what it cannot go on from.
  EXPECT_THAT(names(), SizeIs(4));
  CheckpointFolder next(folder_.path(), 4);
  const auto resumed = next.resume();
  EXPECT_EQ(resumed->position.step, 2);
  EXPECT_EQ(resumed->passed_over[0].file, file("checkpoint.safetensors.damaged"));
  EXPECT_THAT(names(), ElementsAre("checkpoint.2.safetensors", "checkpoint.1.safetensors"));
  save(next, 3);
  EXPECT_THAT(names(), ElementsAre("checkpoint.safetensors", "checkpoint.2.safetensors",
                                   "checkpoint.1.safetensors"));
  EXPECT_EQ(read_file(file("checkpoint.3.safetensors.damaged")), "");
}

TEST_F(CheckpointsInAFolder, WhereNoneIsWholeTheNewestIsTheError) {
  CheckpointFolder folder(folder_.path(), 2);
  for (int64_t step : {1, 2}) save(folder, step);
  damage("checkpoint.safetensors");
  damage("checkpoint.1.safetensors");
  CheckpointFolder next(folder_.path(), 2);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { next.resume(); }),
              AllOf(HasSubstr("checkpoint.safetensors: it is damaged"),
                    HasSubstr("nor can the 1 before it be read")));
  EXPECT_THAT(names(), SizeIs(2));
}

TEST_F(CheckpointsInAFolder, EveryDamagedByteAndEveryMissingEndIsFound) {
  CheckpointFolder folder(folder_.path(), 1);
  save(folder, 7);
  const std::string whole = read_file(file(kCheckpointName));
  const Safetensors wanted = to_safetensors(read_checkpoint(folder_.path()));
  int64_t found = 0;
  const auto expect_found = [&](const std::string& bytes, size_t at) {
    try {
      const Checkpoint read = from_safetensors(parse_safetensors(bytes, "f"), "f");
      // Between the words of the header a space more or less changes nothing.
      EXPECT_TRUE(to_safetensors(read) == wanted) << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
      ++found;
    }
  };
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit : {0, 3, 7}) {
      std::string bytes = whole;
      bytes[at] = char(bytes[at] ^ (1 << bit));
      expect_found(bytes, at);
    }
    EXPECT_THROW(parse_safetensors(whole.substr(0, at), "f"), Error) << at;
  }
  EXPECT_GT(found, int64_t(3 * whole.size() * 9 / 10));
  testing::count("damaged files", 4 * int64_t(whole.size()));
}

TEST_F(CheckpointsInAFolder, FilesOfTheFormatBeforeAreReadWithoutAChecksum) {
  CheckpointFolder folder(folder_.path(), 1);
  save(folder, 7);
  Safetensors content = read_safetensors(file(kCheckpointName));
  EXPECT_EQ(integrity_of(content), Integrity::whole);
  content.metadata["step"] = "8";
  EXPECT_EQ(integrity_of(content), Integrity::damaged);
  content.metadata.erase("checksum");
  EXPECT_EQ(integrity_of(content), Integrity::unknown);
  EXPECT_THAT(error_of(ErrorKind::input, [&] { from_safetensors(content, "f"); }),
              HasSubstr("its metadata lacks 'checksum'"));
  content.metadata["format"] = "graphc checkpoint 1";
  EXPECT_EQ(from_safetensors(content, "f").position.step, 8);
}

}  // namespace
}  // namespace graphc::core
