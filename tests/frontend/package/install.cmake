# SPDX-License-Identifier: Apache-2.0
# Installs the build tree to a fresh prefix, which stands alone: nothing in its package leads back.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE package ${PREFIX}/*.cmake)
list(LENGTH package count)
if(count LESS 3)
  message(FATAL_ERROR "no package in ${PREFIX}: ${package}")
endif()
foreach(file IN LISTS package)
  file(READ ${file} text)
  foreach(folder IN ITEMS ${BUILD} ${SOURCE})
    string(FIND "${text}" "${folder}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} leads back to ${folder}")
    endif()
  endforeach()
endforeach()
execute_process(COMMAND ${PREFIX}/bin/graphc version OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(file IN ITEMS bin/graphc-bench share/man/man1/graphc.1 share/man/man1/graphc-bench.1
    share/bash-completion/completions/graphc share/zsh/site-functions/_graphc
    share/doc/graphc/language.md share/graphc/graph.proto)
  file(SIZE ${PREFIX}/${file} bytes)
  if(bytes EQUAL 0)
    message(FATAL_ERROR "${PREFIX}/${file} is empty")
  endif()
endforeach()
