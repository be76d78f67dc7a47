# SPDX-License-Identifier: Apache-2.0
# The bundle: `cmake --workflow --preset bundle` makes build/bundle/graphc-VERSION-SYSTEM.tar.gz, to
# be unpacked on a machine with a GPU where nothing is installed. It has the tools, the shared
# objects that they need beside the C library, the mocks of CUDA for a dry run, and gpu-check.
#
# The preset gives the programs an RPATH, not a RUNPATH: it holds for what the shared objects need
# in turn as well, and what LD_LIBRARY_PATH names does not come first.

# What the build makes of it; the preset builds no more.
add_custom_target(bundle_contents
  DEPENDS graphc_tool graphc_bench graphc_gpu_probe graphc_mock_driver graphc_mock_nvrtc
    graphc_mock_cudnn graphc_mock_cublaslt graphc_mock_nccl)

set(in_bundle COMPONENT bundle EXCLUDE_FROM_ALL)
install(TARGETS graphc_tool graphc_bench graphc_gpu_probe RUNTIME_DEPENDENCY_SET bundled
  DESTINATION bin ${in_bundle})
install(TARGETS graphc_mock_driver graphc_mock_nvrtc graphc_mock_cudnn
    graphc_mock_cublaslt graphc_mock_nccl RUNTIME_DEPENDENCY_SET bundled
  DESTINATION mock ${in_bundle})
# The C library and its parts are the machine's: they go with its kernel and its driver.
install(RUNTIME_DEPENDENCY_SET bundled
  PRE_EXCLUDE_REGEXES "^(libc|libm|libdl|libpthread|librt|libresolv|ld-linux.*)\\.so"
  DESTINATION lib ${in_bundle})

install(PROGRAMS tools/gpu-check DESTINATION . ${in_bundle})
install(DIRECTORY tools/gpu_check DESTINATION . ${in_bundle}
  FILES_MATCHING PATTERN "*.py" PATTERN "*.md")
install(DIRECTORY tests/regressions/ tests/codegen/ DESTINATION graphs ${in_bundle}
  FILES_MATCHING PATTERN "*.graph" PATTERN "cpu" EXCLUDE PATTERN "cuda" EXCLUDE
  PATTERN "interpreter" EXCLUDE PATTERN "reference" EXCLUDE)
install(FILES LICENSE DESTINATION . ${in_bundle})

# NVRTC comes along from the folders of GRAPHC_CUDA_LIBRARIES, if it is there when this is
# configured (`tools/cuda-libraries DIR` fetches it): a GPU's machine may have the driver alone.
set(nvrtc "not in this archive")
string(REPLACE ":" ";" cuda_folders "$ENV{GRAPHC_CUDA_LIBRARIES}")
foreach(folder IN LISTS cuda_folders)
  file(GLOB nvrtc_files ${folder}/libnvrtc.so.1? ${folder}/libnvrtc-builtins.so.1?.*)
  if(nvrtc_files)
    install(FILES ${nvrtc_files} DESTINATION cuda ${in_bundle})
    set(nvrtc "in the folder `cuda/`")
    break()
  endif()
endforeach()
# The C library that this is built with is the oldest that it runs with.
execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE libc
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
configure_file(cmake/bundle_readme.md ${CMAKE_BINARY_DIR}/bundle/README.md @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/bundle/README.md DESTINATION . ${in_bundle})

set(CPACK_PACKAGE_FILE_NAME
  "graphc-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
string(TOLOWER ${CPACK_PACKAGE_FILE_NAME} CPACK_PACKAGE_FILE_NAME)
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};graphc;bundle;/")
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR TGZ)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
