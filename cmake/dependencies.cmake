# SPDX-License-Identifier: Apache-2.0
# find_package() and headers of others that name Debian's package where something is missing, as
# cmake/dependencies.txt has it.
set(graphc_dependencies ${CMAKE_CURRENT_LIST_DIR}/dependencies.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${graphc_dependencies})

# graphc_package_of(result name): Debian's package by which CMake finds `name`.
function(graphc_package_of result name)
  file(STRINGS ${graphc_dependencies} lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([^ ]+) +[a-z]+ +([^ ]+)$" AND CMAKE_MATCH_2 STREQUAL name)
      set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${name} has no line in cmake/dependencies.txt")
endfunction()

function(graphc_missing what name)
  graphc_package_of(package ${name})
  message(FATAL_ERROR "${what} is not found. On Debian: apt-get install ${package} (all that a "
    "build needs is in cmake/dependencies.txt; tools/build installs it). Elsewhere, say where it "
    "is with -DCMAKE_PREFIX_PATH=FOLDER.")
endfunction()

# graphc_find_package(name arguments...): find_package() of what must be there. A macro: what is
# found are variables of the caller.
macro(graphc_find_package graphc_wanted)
  find_package(${graphc_wanted} QUIET ${ARGN})
  if(NOT ${graphc_wanted}_FOUND)
    string(JOIN " " graphc_shown ${graphc_wanted} ${ARGN})
    string(REPLACE " CONFIG" "" graphc_shown "${graphc_shown}")
    graphc_missing("${graphc_shown}" ${graphc_wanted})
  endif()
endmacro()

# graphc_find_header(name): a header that must be on the compiler's paths.
function(graphc_find_header name)
  string(MAKE_C_IDENTIFIER "GRAPHC_FOLDER_OF_${name}" folder)
  find_path(${folder} ${name})
  mark_as_advanced(${folder})
  if(NOT ${folder})
    graphc_missing("the header ${name}" ${name})
  endif()
endfunction()
