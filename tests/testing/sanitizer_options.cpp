// SPDX-License-Identifier: Apache-2.0
// How the address sanitizer runs in test programs. The graphs of a random test are made of millions
// of small objects: with thirty frames kept of each allocation, and 256 MB of freed memory held back
// before it is used again, a sixth of the time goes there. ASAN_OPTIONS in the environment is read
// after this and has the last word: for a report with whole stacks, malloc_context_size=30.

extern "C" const char* __asan_default_options();

extern "C" __attribute__((visibility("default"), used)) const char* __asan_default_options() {
  return "malloc_context_size=4:quarantine_size_mb=32";
}
