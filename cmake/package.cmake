# SPDX-License-Identifier: Apache-2.0
# The build tree as a package: find_package(graphc) with graphc_DIR set to the build folder gives
# the target graphc::graphc and the header <graphc/graphc.h>.
include(CMakePackageConfigHelpers)

add_library(graphc INTERFACE)
add_library(graphc::graphc ALIAS graphc)
target_link_libraries(graphc INTERFACE graphc::frontend)
target_compile_features(graphc INTERFACE cxx_std_20)
target_include_directories(graphc INTERFACE ${CMAKE_BINARY_DIR}/include)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/graphc/graphc.h
  CONTENT "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n#include \"frontend/graphc.h\"\n")

export(TARGETS graphc graphc_codegen graphc_frontend graphc_ir graphc_passes graphc_proto
  graphc_runtime graphc_settings
  NAMESPACE graphc:: FILE ${CMAKE_BINARY_DIR}/graphc-targets.cmake)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/graphc-config-version.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(cmake/graphc-config.cmake ${CMAKE_BINARY_DIR}/graphc-config.cmake COPYONLY)
