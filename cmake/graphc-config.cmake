# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(Protobuf)
find_dependency(LLVM 19.1)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(nlohmann_json)
include("${CMAKE_CURRENT_LIST_DIR}/graphc-targets.cmake")
# The command-line tool: of a build tree beside this file, of a prefix in its bin folder.
find_program(graphc_EXECUTABLE graphc NO_DEFAULT_PATH
  PATHS "${CMAKE_CURRENT_LIST_DIR}/bin" "${CMAKE_CURRENT_LIST_DIR}/../../../bin"
  "${CMAKE_CURRENT_LIST_DIR}/../../../../bin")
