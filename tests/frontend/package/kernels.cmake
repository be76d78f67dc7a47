# SPDX-License-Identifier: Apache-2.0
# The stranger's cell is one recurrent kernel forward, and one more backward in training.
foreach(case IN ITEMS "cell.graph;1" "train_cell.graph;2")
  list(GET case 0 file)
  list(GET case 1 wanted)
  execute_process(COMMAND ${GRAPHC} dump ${file} --stage=kernels --target=cpu
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "family recurrent" found "${text}")
  list(LENGTH found count)
  if(NOT count EQUAL wanted)
    message(FATAL_ERROR "${file}: ${wanted} recurrent kernels wanted, found ${count}:\n${text}")
  endif()
  if(text MATCHES "family loop")
    message(FATAL_ERROR "${file} has a loop:\n${text}")
  endif()
endforeach()
