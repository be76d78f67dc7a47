// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <optional>

#include "runtime/cuda/device.h"
#include "tests/testing/expect_error.h"
#include "tests/testing/temporary_folder.h"

namespace graphc::core::cuda {
namespace {

using graphc::core::testing::error_of;
using graphc::core::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace filesystem = std::filesystem;

const filesystem::path kFakes = GRAPHC_FAKES_FOLDER;
constexpr std::array<std::string_view, 2> kNames{"libfake.so.13", "libfake.so.12"};
constexpr std::array<std::string_view, 1> kVersion{"cuDriverGetVersion"};
constexpr std::array<std::string_view, 2> kMore{"cuDriverGetVersion", "cuInit"};

Places named(std::vector<filesystem::path> folders) { return {std::move(folders), false, {}}; }
Places usual(std::vector<filesystem::path> folders) { return {{}, false, std::move(folders)}; }

/// What this process finds: a driver that it does not take. The other libraries are as they are.
const int kChosen = setenv("GRAPHC_CUDA_LIBRARIES", (kFakes / "old_driver").c_str(), 1);

/// A folder that has a library under a name; it says the version and nothing else.
filesystem::path with_library(const TemporaryFolder& folder, const std::string& name,
                              const std::string& file) {
  const filesystem::path path = folder.path() / name;
  filesystem::create_directories(path);
  filesystem::copy_file(kFakes / "few_functions" / "libcuda.so.1", path / file);
  return path;
}

/// A variable of the environment that has another value for a while.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(CudaLibraries, WhatIsNowhereIsNotFound) {
  const TemporaryFolder folder;
  const Opened opened = open_library({"fake", kNames, kVersion, "a fake"}, usual({folder.path()}));
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_EQ(opened.found.name, "fake");
  EXPECT_EQ(opened.found.path, "");
  EXPECT_EQ(opened.found.why_not, "no libfake.so.13 or libfake.so.12 was found");
  const Opened system = open_library({"fake", kNames, kVersion, "a fake"}, Places{});
  EXPECT_EQ(system.found.why_not, "no libfake.so.13 or libfake.so.12 was found");
}

TEST(CudaLibraries, TheFirstPlaceHasIt) {
  const TemporaryFolder folder;
  const auto first = with_library(folder, "first", "libfake.so.12");
  const auto second = with_library(folder, "second", "libfake.so.13");
  for (const Places& places : {named({first, second}), usual({first, second})}) {
    const Opened opened = open_library({"fake", kNames, kVersion, "a fake"}, places);
    EXPECT_NE(opened.handle, nullptr);
    EXPECT_EQ(opened.found.path, (first / "libfake.so.12").string());
    EXPECT_EQ(opened.found.why_not, "");
  }
  const Opened opened =
      open_library({"fake", kNames, kVersion, "a fake"}, {{second}, true, {first}});
  EXPECT_EQ(opened.found.path, (second / "libfake.so.13").string());
}

TEST(CudaLibraries, ThePreferredNameInAFolderIsTaken) {
  const TemporaryFolder folder;
  const auto both = with_library(folder, "both", "libfake.so.12");
  with_library(folder, "both", "libfake.so.13");
  const Opened opened = open_library({"fake", kNames, kVersion, "a fake"}, named({both}));
  EXPECT_EQ(opened.found.path, (both / "libfake.so.13").string());
}

TEST(CudaLibraries, AnUnusableFileInANamedFolderEndsTheSearch) {
  const TemporaryFolder folder;
  const auto good = with_library(folder, "good", "libfake.so.13");
  const auto text = folder.add("text/libfake.so.13", "not a library\n");
  const Opened opened = open_library({"fake", kNames, kVersion, "a fake"},
                                     {{text.parent_path(), good}, true, {good}});
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_EQ(opened.found.path, text.string());
  EXPECT_THAT(opened.found.why_not, HasSubstr(text.string() + ": "));
}

TEST(CudaLibraries, AnUnusableFileElsewhereIsPassedOver) {
  const TemporaryFolder folder;
  const auto good = with_library(folder, "good", "libfake.so.13");
  const auto text = folder.add("text/libfake.so.13", "not a library\n");
  const Opened opened =
      open_library({"fake", kNames, kVersion, "a fake"}, usual({text.parent_path(), good}));
  EXPECT_EQ(opened.found.path, (good / "libfake.so.13").string());
  EXPECT_EQ(opened.found.why_not, "");
  // If there is nothing better, the file is the reason.
  const Opened none =
      open_library({"fake", kNames, kVersion, "a fake"}, usual({text.parent_path()}));
  EXPECT_EQ(none.found.path, text.string());
  EXPECT_THAT(none.found.why_not, HasSubstr(text.string() + ": "));
}

TEST(CudaLibraries, ALibraryThatLacksASymbolIsNotIt) {
  const TemporaryFolder folder;
  const auto good = with_library(folder, "good", "libfake.so.13");
  const Opened opened = open_library({"fake", kNames, kMore, "a fake of version 3"}, named({good}));
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_EQ(opened.found.why_not, "'" + (good / "libfake.so.13").string() +
                                      "' has no cuInit; wanted a fake of version 3");
}

TEST(CudaLibraries, ANamedFolderMustBeThere) {
  const TemporaryFolder folder;
  const auto good = with_library(folder, "good", "libfake.so.13");
  const auto missing = folder.path() / "missing";
  const Opened opened =
      open_library({"fake", kNames, kVersion, "a fake"}, {{missing, good}, true, {good}});
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_EQ(opened.found.why_not, "GRAPHC_CUDA_LIBRARIES: no folder '" + missing.string() + "'");
  // One that is only usual need not be.
  EXPECT_NE(open_library({"fake", kNames, kVersion, "a fake"}, usual({missing, good})).handle,
            nullptr);
}

TEST(CudaLibraries, AStubIsNotTaken) {
  const TemporaryFolder folder;
  const auto stubs = with_library(folder, "stubs", "libfake.so.13");
  const Opened opened = open_library({"fake", kNames, kVersion, "a fake"}, named({stubs}));
  EXPECT_EQ(opened.handle, nullptr);
  EXPECT_EQ(opened.found.why_not,
            "'" + (stubs / "libfake.so.13").string() + "' is a stub to link with; wanted a fake");
  // Nor under another name that leads to it.
  const auto link = folder.path() / "link";
  filesystem::create_directory_symlink(stubs, link);
  EXPECT_EQ(open_library({"fake", kNames, kVersion, "a fake"}, named({link})).handle, nullptr);
}

TEST(CudaLibraries, PlacesAreThoseOfTheEnvironment) {
  const TemporaryFolder folder;
  const filesystem::path home = folder.path() / "home", python = folder.path() / "python";
  const auto packages = home / ".local/lib/python3.11/site-packages/nvidia";
  const auto environment = python / "lib/python3.12/site-packages/nvidia";
  for (const auto& path : {packages / "cu13/lib", packages / "cudnn/lib", environment / "cu13/lib",
                           python / "lib/other/site-packages/nvidia/cu13/lib"}) {
    filesystem::create_directories(path);
  }
  const ScopedVariable variables[] = {{"GRAPHC_CUDA_LIBRARIES", ":/a::/b:"},
                                      {"CUDA_HOME", "/c"},
                                      {"CUDA_PATH", "/d"},
                                      {"VIRTUAL_ENV", python.string()},
                                      {"HOME", home.string()}};
  const Places places = places_of_environment();
  EXPECT_THAT(places.named, ElementsAre("/a", "/b"));
  EXPECT_TRUE(places.system);
  EXPECT_THAT(places.folders,
              ElementsAre("/c/lib64", "/c/lib", "/d/lib64", "/d/lib", "/usr/local/cuda/lib64",
                          "/usr/local/cuda/lib", environment / "cu13/lib", packages / "cu13/lib",
                          packages / "cudnn/lib"));
}

TEST(CudaLibraries, NoneIsNoPlaceAtAll) {
  const ScopedVariable variable("GRAPHC_CUDA_LIBRARIES", "none");
  const Places places = places_of_environment();
  EXPECT_TRUE(places.named.empty());
  EXPECT_FALSE(places.system);
  EXPECT_TRUE(places.folders.empty());
}

TEST(CudaLibraries, ADriverMustHaveEveryFunction) {
  const LoadedDriver loaded = load_driver(named({kFakes / "few_functions"}));
  EXPECT_EQ(loaded.library.why_not, "'" + (kFakes / "few_functions/libcuda.so.1").string() +
                                        "' has no cuInit; wanted a driver of CUDA 12.1 or newer");
  EXPECT_EQ(loaded.functions.cuDriverGetVersion, nullptr);
}

TEST(CudaLibraries, AnOldDriverIsNotTaken) {
  const LoadedDriver loaded = load_driver(named({kFakes / "old_driver"}));
  EXPECT_EQ(loaded.library.version, "11.8");
  EXPECT_EQ(loaded.library.why_not, "'" + (kFakes / "old_driver/libcuda.so.1").string() +
                                        "' is a driver of CUDA 11.8; wanted a driver of CUDA "
                                        "12.1 or newer");
}

TEST(CudaLibraries, VersionsAreRead) {
  EXPECT_EQ(version_text(13000), "13.0");
  EXPECT_EQ(version_text(12090), "12.9");
}

TEST(CudaLibraries, AllAreLookedForOnce) {
  const std::vector<FoundLibrary> found = found_libraries(), again = found_libraries();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(kChosen, 0);
  EXPECT_EQ(found[0].version, "11.8");
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].name, (std::array{"driver", "nvrtc", "cudnn", "cublaslt"}[i]));
    EXPECT_EQ(found[i].why_not, again[i].why_not);
    // What can be used says what it is.
    if (found[i].why_not.empty()) {
      EXPECT_NE(found[i].version, "") << found[i].name;
      EXPECT_NE(found[i].path, "") << found[i].name;
    }
    EXPECT_EQ(found[i].why_not.find('\n'), std::string::npos);
  }
}

TEST(CudaLibraries, WithoutADriverThereIsNoDevice) {
  const std::string reason = "'" + (kFakes / "old_driver/libcuda.so.1").string() +
                             "' is a driver of CUDA 11.8; wanted a driver of CUDA 12.1 or newer";
  std::string why_not;
  EXPECT_FALSE(driver_present(&why_not));
  EXPECT_EQ(why_not, reason);
  EXPECT_FALSE(driver_present());
  EXPECT_EQ(Device::count(), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of(ErrorKind::resource, [] { driver(); }), "no CUDA driver: " + reason);
    EXPECT_EQ(error_of(ErrorKind::resource, [] { Device::open(); }), "no CUDA driver: " + reason);
  }
}

}  // namespace
}  // namespace graphc::core::cuda
