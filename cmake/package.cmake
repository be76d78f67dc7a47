# SPDX-License-Identifier: Apache-2.0
# The package: find_package(graphc) gives the target graphc::graphc with the header
# <graphc/graphc.h>, the target graphc::c with <graphc/c.h>, and graphc_EXECUTABLE, from an
# installed prefix (`cmake --install build/release --prefix DIR`) or from the build tree with
# graphc_DIR set to the build folder.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

add_library(graphc INTERFACE)
add_library(graphc::graphc ALIAS graphc)
target_link_libraries(graphc INTERFACE graphc::frontend)
target_compile_features(graphc INTERFACE cxx_std_20)
target_include_directories(graphc INTERFACE
  $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Where Ranks::world() finds the module of MPI from a program of a user's.
target_compile_definitions(graphc INTERFACE
  $<BUILD_INTERFACE:GRAPHC_MODULES="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}">
  $<INSTALL_INTERFACE:GRAPHC_MODULES="$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/graphc">)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/graphc/graphc.h
  CONTENT "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n#include \"frontend/graphc.h\"\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/graphc-config-version.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(cmake/graphc-config.cmake ${CMAKE_BINARY_DIR}/graphc-config.cmake COPYONLY)

set(package_targets graphc graphc_c graphc_codegen graphc_frontend graphc_ir graphc_passes
  graphc_proto graphc_runtime graphc_settings graphc_step)
export(TARGETS ${package_targets} NAMESPACE graphc:: FILE ${CMAKE_BINARY_DIR}/graphc-targets.cmake)

# Installed, the folders of headers lie in include/graphc, and include paths begin there as they do
# in the source tree. What only a target's own sources include (LLVM) stays behind.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/graphc)
install(TARGETS ${package_targets} EXPORT graphc-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/graphc)
install(EXPORT graphc-targets NAMESPACE graphc:: DESTINATION ${package_folder})
install(FILES ${CMAKE_BINARY_DIR}/graphc-config.cmake
  ${CMAKE_BINARY_DIR}/graphc-config-version.cmake
  DESTINATION ${package_folder})
install(FILES ${CMAKE_BINARY_DIR}/include/graphc/graphc.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/graphc)
# The C interface: one header, one shared library.
install(FILES frontend/c/c.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/graphc)
install(DIRECTORY ir passes runtime codegen frontend
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/graphc
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "targets" EXCLUDE PATTERN "cuda" EXCLUDE
  PATTERN "c" EXCLUDE PATTERN "python" EXCLUDE)
foreach(target cpu cuda)
  install(FILES codegen/targets/${target}/options.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/graphc/codegen/targets/${target})
endforeach()
install(TARGETS graphc_tool graphc_bench DESTINATION ${CMAKE_INSTALL_BINDIR})
# man: the manual pages and what completes commands in a shell, as the tools describe themselves.
set(manual ${CMAKE_BINARY_DIR}/man/man1)
set(completion ${CMAKE_BINARY_DIR}/completion)
add_custom_command(OUTPUT ${manual}/graphc.1 ${manual}/graphc-bench.1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual} ${completion}
  COMMAND graphc_tool man --write ${manual}
  COMMAND graphc_bench --man > ${manual}/graphc-bench.1
  COMMAND graphc_tool completion bash > ${completion}/graphc
  COMMAND graphc_tool completion zsh > ${completion}/_graphc
  DEPENDS graphc_tool graphc_bench
  COMMENT "Writing manual pages"
  VERBATIM)
add_custom_target(man ALL DEPENDS ${manual}/graphc.1 ${manual}/graphc-bench.1)
install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${CMAKE_BINARY_DIR}/completion/graphc
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/completion/_graphc
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
# Documents lie as they do in the source tree, so that their links lead somewhere.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY models/tour models/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/models
  FILES_MATCHING PATTERN "*.md" PATTERN "*.h" PATTERN "*.cpp" PATTERN "*.py")
install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES frontend/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/frontend)
install(FILES cmake/dependencies.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/cmake)
# The programs that documents for users name; `graphc-bench --peers` runs tools/peers
# (tools/bench/peers.h).
install(PROGRAMS tools/cells tools/peers tools/roofline
  DESTINATION ${CMAKE_INSTALL_DATADIR}/graphc/tools)
install(DIRECTORY tools/roofline_parts tools/references
  DESTINATION ${CMAKE_INSTALL_DATADIR}/graphc/tools
  FILES_MATCHING PATTERN "*.py")
install(FILES ir/graph.proto DESTINATION ${CMAKE_INSTALL_DATADIR}/graphc)
