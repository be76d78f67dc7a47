# SPDX-License-Identifier: Apache-2.0
# Compiler settings shared by every target, and graphc_library(): one library per folder.

# A compiler cache may hand sources to the compiler by their relative paths.
file(RELATIVE_PATH source_from_build ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
string(REGEX REPLACE "/$" "" source_from_build ${source_from_build})
add_library(graphc_settings INTERFACE)
target_include_directories(graphc_settings INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
target_compile_options(graphc_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
  $<BUILD_INTERFACE:-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=>
  $<BUILD_INTERFACE:-ffile-prefix-map=${source_from_build}/=>)
if(GRAPHC_WERROR)
  target_compile_options(graphc_settings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A source is compiled in a gigabyte: to look for garbage before takes a seventh of the time.
  target_compile_options(graphc_settings INTERFACE
    $<BUILD_INTERFACE:--param=ggc-min-heapsize=1048576>
    $<BUILD_INTERFACE:--param=ggc-min-expand=400>)
endif()
if(GRAPHC_MUTANTS)
  target_compile_definitions(graphc_settings INTERFACE $<BUILD_INTERFACE:GRAPHC_MUTANTS>)
endif()
if(GRAPHC_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC documents that its sanitizers make this warning fire on correct code, std::regex included.
  target_compile_options(graphc_settings INTERFACE -Wno-maybe-uninitialized)
endif()
if(GRAPHC_SANITIZE STREQUAL "address")
  # What is left out stands at every access through a pointer and takes a third of the time to
  # compile. The address sanitizer sees such a pointer too once it is used, alignment apart; the
  # preset fuzz has all of them.
  # A target with the property GRAPHC_WITHOUT_UBSAN has the address sanitizer alone; one with
  # GRAPHC_WITHOUT_ASAN lacks that.
  set(checked "$<NOT:$<BOOL:$<TARGET_PROPERTY:GRAPHC_WITHOUT_UBSAN>>>")
  set(addresses "$<NOT:$<BOOL:$<TARGET_PROPERTY:GRAPHC_WITHOUT_ASAN>>>")
  target_compile_options(graphc_settings INTERFACE -fno-omit-frame-pointer
    "$<${addresses}:-fsanitize=address>"
    "$<${checked}:-fsanitize=undefined>"
    "$<${checked}:-fno-sanitize=null,alignment,object-size,vptr,pointer-overflow>"
    "$<${checked}:-fno-sanitize-recover=undefined>")
  target_link_options(graphc_settings INTERFACE -fsanitize=address,undefined)
  # Four dozen programs are linked with the libraries' debug information: gold takes half the time,
  # and lld, where it is installed, half of that.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld graphc_has_lld)
  check_linker_flag(CXX -fuse-ld=gold graphc_has_gold)
  if(graphc_has_lld)
    target_link_options(graphc_settings INTERFACE -fuse-ld=lld)
  elseif(graphc_has_gold)
    target_link_options(graphc_settings INTERFACE -fuse-ld=gold)
  endif()
elseif(GRAPHC_SANITIZE STREQUAL "fuzzer")
  target_compile_options(graphc_settings INTERFACE -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(graphc_settings INTERFACE -fsanitize=address,undefined)
elseif(GRAPHC_SANITIZE STREQUAL "thread")
  target_compile_options(graphc_settings INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(graphc_settings INTERFACE -fsanitize=thread)
endif()

# What makes a defect of memory harder to use, for every target of the build and for none that uses
# the package: programs lie at random addresses, their tables of functions are found at the start
# and read-only from then on, and a frame that was written past ends the process; so does, in
# optimised builds, a call of the C library that would write past an object. Not -fcf-protection:
# the kernels compiled at run time have no landing pads, and Debian's start files no shadow stacks.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
add_compile_options(-fstack-protector-strong)
add_link_options(-Wl,-z,relro,-z,now)
# The sanitizers replace the same calls, and without -O there is nothing to check. Who wants another
# level in CMAKE_CXX_FLAGS gets it.
if(NOT GRAPHC_SANITIZE AND NOT CMAKE_CXX_FLAGS MATCHES "_FORTIFY_SOURCE")
  add_compile_options(
    "$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

graphc_find_package(fmt)
# The Python package is one shared object that stands alone in a process with many others.
option(GRAPHC_STANDALONE "Use fmt without its library, for objects that others load" OFF)
set(graphc_fmt fmt::fmt)
if(GRAPHC_STANDALONE)
  set(graphc_fmt fmt::fmt-header-only)
endif()

# Headers of others that most sources include, precompiled for the libraries, the tests and the
# tools each: their flags differ. None of ours, so that they never change. With the presets `fuzz`
# and `tsan` there are none, so that every source is seen to include what it uses.
set(graphc_precompiled
  <fmt/format.h> <fmt/ranges.h>
  <algorithm> <array> <cmath> <cstdint> <cstring> <deque> <exception> <filesystem> <functional>
  <map> <memory> <numeric> <optional> <set> <span> <sstream> <string> <string_view>
  <unordered_map> <utility> <variant> <vector>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  # ccache keeps what was compiled with them only so.
  target_compile_options(graphc_settings INTERFACE -fpch-preprocess)
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$" AND NOT DEFINED ENV{CCACHE_SLOPPINESS})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_CXX_COMPILER_LAUNCHER})
  endif()
endif()

# graphc_precompile(kind target header...): the target, of a kind whose targets share their flags,
# uses the precompiled headers and these; those of the kind's first target serve all.
function(graphc_precompile kind target)
  get_property(first GLOBAL PROPERTY GRAPHC_PRECOMPILED_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY GRAPHC_PRECOMPILED_${kind} ${target})
    target_precompile_headers(${target} PRIVATE ${ARGN} ${graphc_precompiled})
  endif()
endfunction()

# graphc_check_by_calls(target): in sanitized builds its checks of memory are calls, not code at
# every access: a quarter less time to compile. Not for what all tests compile graphs with: there it
# costs more than it saves.
function(graphc_check_by_calls target)
  if(GRAPHC_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE --param=asan-instrumentation-with-call-threshold=0)
  endif()
endfunction()

# graphc_compile_quickly(target): for tests and tools, which are compiled more often than their
# loops are worth: sanitized builds do not optimise them either. That halves the time to compile
# them. The libraries, and what tests share, keep the level of the preset.
function(graphc_compile_quickly target)
  graphc_check_by_calls(${target})
  if(GRAPHC_SANITIZE STREQUAL "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -O0)
    graphc_compile_together(${target})
  endif()
endfunction()

# graphc_compile_together(target): thirty of its sources make one translation unit: much of the time
# of a source goes into headers and templates that the sources beside it need as well. Only where
# sanitizers make that dear: the other presets compile every source by itself, and see that it
# includes what it uses. -DCMAKE_UNITY_BUILD=OFF does so here, for who changes one source at a time.
function(graphc_compile_together target)
  if(GRAPHC_SANITIZE STREQUAL "address" AND NOT DEFINED CMAKE_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 30)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # It takes the sources of a unit for headers, whose unnamed namespaces would be a mistake; and
      # in large units operator delete of LLVM's variables for another one's.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-mismatched-new-delete)
    endif()
  endif()
endfunction()

# graphc_library(folder SOURCES ... DEPENDS ...): library graphc_<folder>, alias graphc::<folder>.
# DEPENDS names the folders it may include; tests/layering_test.cpp holds the same table.
function(graphc_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(graphc_${folder} STATIC ${ARG_SOURCES})
  add_library(graphc::${folder} ALIAS graphc_${folder})
  # Our warnings are not those of a project that uses graphc: it gets the include folder alone.
  target_link_libraries(graphc_${folder} PUBLIC ${graphc_fmt} PRIVATE graphc_settings)
  target_include_directories(graphc_${folder} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
  graphc_precompile(libraries graphc_${folder})
  graphc_compile_together(graphc_${folder})
  if(folder MATCHES "^(runtime|frontend|models)$")
    graphc_check_by_calls(graphc_${folder})
  endif()
  foreach(dependency IN LISTS ARG_DEPENDS)
    target_link_libraries(graphc_${folder} PUBLIC graphc::${dependency})
  endforeach()
endfunction()
