// SPDX-License-Identifier: Apache-2.0
// Runs code that must fail, and returns the message.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ir/error.h"

namespace graphc::core::testing {

/// The message of the graphc::core::Error that `function` throws. Fails the test if it throws none,
/// or one of another kind.
template <typename Function>
std::string error_of(ErrorKind kind, Function&& function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), static_cast<int>(kind)) << error.what();
    return error.message();
  }
  ADD_FAILURE() << "wanted an error, found none";
  return {};
}

}  // namespace graphc::core::testing
