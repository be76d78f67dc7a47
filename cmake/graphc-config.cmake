# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
find_dependency(Protobuf)
find_dependency(LLVM 19.1)
find_dependency(Threads)
find_dependency(fmt)
find_dependency(nlohmann_json)
include("${CMAKE_CURRENT_LIST_DIR}/graphc-targets.cmake")
