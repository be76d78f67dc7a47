// SPDX-License-Identifier: Apache-2.0
// Checks of the tests in C: a failed one is printed and counted.
#pragma once

#include <stdio.h>
#include <string.h>

#include "frontend/c/c.h"

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

/// Checks that a call was right, and shows why it was not.
static inline void check_ok(graphc_status status, graphc_error** error, int line) {
  if (status == GRAPHC_OK && *error == NULL) return;
  fprintf(stderr, "line %d: status %d: %s\n", line, (int)status, graphc_error_text(*error));
  graphc_error_free(*error);
  *error = NULL;
  ++failures;
}
#define OK(call) check_ok(call, &error, __LINE__)

/// Checks that a call failed with this status and with a message that contains these words.
static inline void check_fails(graphc_status status, graphc_status wanted, graphc_error** error,
                               const char* words, int line) {
  const int same = status == wanted && graphc_error_status(*error) == wanted;
  if (!same || strstr(graphc_error_text(*error), words) == NULL) {
    fprintf(stderr, "line %d: wanted status %d and '%s': found %d: %s\n", line, (int)wanted, words,
            (int)status, graphc_error_text(*error));
    ++failures;
  }
  graphc_error_free(*error);
  *error = NULL;
}
#define FAILS(call, wanted, words) check_fails(call, wanted, &error, words, __LINE__)

/// A graph that reads and writes states, one that reads a table, one with a mask, a long loop.
static const char kText[] =
    "module @tests\n"
    "graph @step(%x: f32[2,3]) state (%w: f32[3,2], %n: i64[]) {\n"
    "  %y = matmul(%x, %w)\n"
    "  next %w = mul(%w, 2.), %n = add(%n, 1)\n"
    "  return %y, %n\n"
    "}\n"
    "graph @pick(%t: f32[4,2], %i: i32[3]) { return gather(%t, %i) }\n"
    "graph @mask(%b: bool[3], %x: f32[3]) { return select(%b, %x, 0.) }\n"
    "graph @cell(%x: f32[5,2,3], %h0: f32[2,3]) {\n"
    "  %y, %h.end = scan %x.t in %x carry %h = %h0 {\n"
    "    %h.1 = tanh(add(%x.t, %h))\n"
    "    next %h = %h.1\n"
    "    emit %h.1\n"
    "  }\n"
    "  return %y, %h.end\n"
    "}\n"
    "graph @fixed(%x: f32[2,3]) { return reshape(%x) {shape = [6]} }\n"
    "graph @long(%h0: f32[64]) state (%n: i64[]) {\n"
    "  %h.end = scan {steps = 200000} carry %h = %h0 { next %h = tanh(add(%h, 0.5)) }\n"
    "  next %n = add(%n, 1)\n"
    "  return %h.end\n"
    "}\n";
