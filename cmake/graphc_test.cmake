# SPDX-License-Identifier: Apache-2.0
# graphc_test(): a folder of tests as one GoogleTest executable, its cases known to ctest.

graphc_find_package(GTest)
graphc_find_header(gmock/gmock.h)
include(GoogleTest)

# graphc_test(name SOURCES file... [LABELS text|cpu|cuda|slow] [LIBRARIES target...] [COST n]
# [CHECKED]):
# executable graphc_<name>_tests. A label says what a test needs: `text` nothing, `cpu` to run
# compiled code, `cuda` a GPU, `slow` minutes. LABELS, `text` unless given, holds for all cases but
# those of suites whose name ends in Cpu, Cuda or Slow: these carry the label of their name alone,
# so that one executable can hold several kinds. Those with a higher COST, about the seconds that
# the longest of them takes, begin first: where none is known yet, all are 0.
function(graphc_test name)
  cmake_parse_arguments(ARG "CHECKED" "COST" "SOURCES;LABELS;LIBRARIES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_SOURCES)
    message(FATAL_ERROR "graphc_test(${name}): wanted SOURCES ... [LABELS ...] [LIBRARIES ...]")
  endif()
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS text)
  endif()
  foreach(label IN LISTS ARG_LABELS)
    if(NOT label MATCHES "^(text|cpu|cuda|slow)$")
      message(FATAL_ERROR "graphc_test(${name}): no such label: ${label}")
    endif()
  endforeach()

  set(target graphc_${name}_tests)
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE
    graphc_settings ${ARG_LIBRARIES} GTest::gmock GTest::gtest GTest::gtest_main)
  # The arithmetic of tests is loop counters and expected values: without UBSan they compile in a
  # sixteenth less time. The libraries under test keep it.
  set_target_properties(${target} PROPERTIES GRAPHC_WITHOUT_UBSAN ON)
  # Without line numbers of their own they compile in a twelfth less. GoogleTest names the line of
  # an expectation, and the libraries keep theirs.
  if(GRAPHC_SANITIZE STREQUAL "address")
    target_compile_options(${target} PRIVATE -g0)
  endif()
  # The libraries check their own accesses, and the memory that a test hands them, whatever the
  # test is compiled with. Without the address sanitizer it compiles in a quarter less time. CHECKED
  # keeps it: tests that stand for a user's program, whose mistakes with lifetimes must be seen in
  # the code of headers too.
  if(ARG_CHECKED)
    graphc_precompile(checked_tests ${target} <gmock/gmock.h> <gtest/gtest.h>)
  else()
    set_target_properties(${target} PROPERTIES GRAPHC_WITHOUT_ASAN ON)
    graphc_precompile(tests ${target} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  graphc_compile_quickly(${target})

  graphc_discover_(${target} "-*Cpu.*:*Cuda.*:*Slow.*" "${ARG_LABELS}" ${ARG_COST})
  graphc_discover_(${target} "*Cpu.*" cpu ${ARG_COST})
  graphc_discover_(${target} "*Cuda.*" cuda ${ARG_COST})
  graphc_discover_(${target} "*Slow.*" slow ${ARG_COST})
endfunction()

function(graphc_discover_ target filter labels cost)
  set(timeout 300)
  if("slow" IN_LIST labels)
    set(timeout 3600)
  endif()
  gtest_discover_tests(${target}
    TEST_FILTER "${filter}"
    WORKING_DIRECTORY "${CMAKE_BINARY_DIR}"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    # The user's kept kernels are not the tests'.
    PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} COST ${cost} ENVIRONMENT GRAPHC_CACHE=none)
endfunction()

# graphc_use_mocks(target): a test that sets GRAPHC_CUDA_LIBRARIES to GRAPHC_MOCK_FOLDER, and so has
# the driver and the compiler of tests/cuda/mock.
function(graphc_use_mocks target)
  add_dependencies(${target} graphc_mock_driver graphc_mock_nvrtc graphc_mock_cudnn
    graphc_mock_cublaslt graphc_mock_nccl)
  target_compile_definitions(${target} PRIVATE
    GRAPHC_MOCK_FOLDER="$<TARGET_FILE_DIR:graphc_mock_driver>")
endfunction()

# graphc_use_mpi(target): a test of ranks, with the module graphc_mpi where it is built
# (tests/testing/mpirun.h).
function(graphc_use_mpi target)
  set(has_mpi false)
  if(TARGET graphc_mpi)
    set(has_mpi true)
    add_dependencies(${target} graphc_mpi)
  endif()
  target_compile_definitions(${target} PRIVATE GRAPHC_HAS_MPI=${has_mpi})
endfunction()
