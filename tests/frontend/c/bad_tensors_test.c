// SPDX-License-Identifier: Apache-2.0
// The C interface, given tensors that do not fit: nothing is written, and the message says why.
#include "tests/frontend/c/check.h"

static graphc_error* error = NULL;
static const int64_t k23[] = {2, 3}, k22[] = {2, 2}, k3[] = {3}, k42[] = {4, 2};
static graphc_module* module;
static graphc_session* session;
static graphc_graph *step, *pick, *mask;

static void make_objects(void) {
  graphc_options options = {sizeof options};
  options.target = "cpu";
  options.threads = 1;
  options.no_disk_cache = 1;
  OK(graphc_module_parse(kText, strlen(kText), "tests.graph", &module, &error));
  OK(graphc_session_create(module, &options, &session, &error));
  OK(graphc_session_compile(session, "step", NULL, 0, &step, &error));
  OK(graphc_session_compile(session, "pick", NULL, 0, &pick, &error));
  OK(graphc_session_compile(session, "mask", NULL, 0, &mask, &error));
}

static float x[6] = {1, 2, 3, 4, 5, 6}, y[6], table[8] = {0};
static int64_t room[3], *const n = room + 1;

/// What `step` refuses: the input that `change` has spoilt.
static void run_step(void (*change)(graphc_tensor* input, graphc_tensor* result),
                     const char* words) {
  graphc_tensor input = graphc_tensor_of(x, GRAPHC_F32, 2, k23);
  graphc_tensor results[] = {graphc_tensor_of(y, GRAPHC_F32, 2, k22),
                             graphc_tensor_of(n, GRAPHC_I64, 0, NULL)};
  change(&input, &results[0]);
  *n = 77;
  FAILS(graphc_graph_run(step, &input, 1, results, 2, &error), GRAPHC_ERROR_INPUT, words);
  CHECK(*n == 77);
}

static void dtype(graphc_tensor* i, graphc_tensor* r) {
  i->dtype = GRAPHC_F64;
  (void)r;
}
static void unknown(graphc_tensor* i, graphc_tensor* r) {
  i->dtype = 0x10205;
  (void)r;
}
static void rank(graphc_tensor* i, graphc_tensor* r) {
  i->rank = 1;
  (void)r;
}
static void high(graphc_tensor* i, graphc_tensor* r) {
  i->rank = 9;
  (void)r;
}
static void below(graphc_tensor* i, graphc_tensor* r) {
  i->rank = -1;
  (void)r;
}
static void extent(graphc_tensor* i, graphc_tensor* r) {
  i->shape = k22;
  (void)r;
}
static void shapeless(graphc_tensor* i, graphc_tensor* r) {
  i->shape = NULL;
  (void)r;
}
static void device(graphc_tensor* i, graphc_tensor* r) {
  i->device_type = 2;
  (void)r;
}
static void metal(graphc_tensor* i, graphc_tensor* r) {
  i->device_type = 8;
  (void)r;
}
static void no_data(graphc_tensor* i, graphc_tensor* r) {
  i->data = NULL;
  (void)r;
}
static void no_place(graphc_tensor* i, graphc_tensor* r) {
  r->data = NULL;
  (void)i;
}
static void same(graphc_tensor* i, graphc_tensor* r) { r->data = i->data; }
static void overlap(graphc_tensor* i, graphc_tensor* r) { r->data = (float*)i->data + 5; }
static void twice(graphc_tensor* i, graphc_tensor* r) {
  r->data = room;
  (void)i;
}
static void turned(graphc_tensor* i, graphc_tensor* r) {
  static const int64_t kTurned[] = {1, 2};
  r->strides = kTurned;
  (void)i;
}
static void repeated(graphc_tensor* i, graphc_tensor* r) {
  static const int64_t kRepeated[] = {0, 1};
  r->strides = kRepeated;
  (void)i;
}
static void unaligned(graphc_tensor* i, graphc_tensor* r) {
  r->byte_offset = 2;
  (void)i;
}
static void far(graphc_tensor* i, graphc_tensor* r) {
  static const int64_t kFar[] = {INT64_MAX / 2, 1};
  i->strides = kFar;
  (void)r;
}

static void test_tensors(void) {
  run_step(dtype, "graph 'step': input 'x' is f32[2,3]: found f64[2,3]");
  run_step(unknown, "its dtype has code 5, 2 bits and 1 lanes");
  run_step(rank, "is f32[2,3]: found f32[2]");
  run_step(high, "its rank is 9: wanted 0 to 8");
  run_step(below, "its rank is -1");
  run_step(extent, "is f32[2,3]: found f32[2,2]");
  run_step(shapeless, "its shape is NULL");
  run_step(device, "its memory is on cuda:0: wanted the host's");
  run_step(metal, "its memory is on a device of type 8");
  run_step(no_data, "input 'x' is f32[2,3], and its data is NULL");
  run_step(no_place, "result 'y' is f32[2,2], and its data is NULL");
  run_step(same, "result 'y' shares memory with graph 'step': input 'x'");
  run_step(overlap, "result 'y' shares memory with graph 'step': input 'x'");
  run_step(twice, "result 'n' shares memory with graph 'step': result 'y'");
  run_step(turned, "with strides [1,2]: wanted row-major");
  run_step(repeated, "with strides [0,1]: wanted row-major");
  run_step(unaligned, "its address is no multiple of 4 bytes");
  run_step(far, "its stride along axis 0 is");
  FAILS(graphc_graph_run(step, NULL, 1, NULL, 2, &error), GRAPHC_ERROR_USAGE, "'inputs' is NULL");
  graphc_tensor input = graphc_tensor_of(x, GRAPHC_F32, 2, k23);
  FAILS(graphc_graph_run(step, &input, 1, NULL, 2, &error), GRAPHC_ERROR_USAGE,
        "'results' is NULL");
  FAILS(graphc_graph_run(step, &input, 2, NULL, 0, &error), GRAPHC_ERROR_INPUT,
        "has 1 input: found 2");
  FAILS(graphc_graph_run(step, &input, 1, &input, 1, &error), GRAPHC_ERROR_INPUT,
        "has 2 results: found 1");
  FAILS(graphc_session_read(session, "w", &input, &error), GRAPHC_ERROR_INPUT,
        "state 'w' is f32[3,2]: found f32[2,3]");
  FAILS(graphc_session_write(session, "n", &input, &error), GRAPHC_ERROR_INPUT,
        "state 'n' is i64[]: found f32[2,3]");
  FAILS(graphc_session_read(session, "v", &input, &error), GRAPHC_ERROR_INPUT, "no state 'v'");
}

static void test_data(void) {
  int32_t index[] = {1, 9, 0};
  const graphc_tensor inputs[] = {graphc_tensor_of(table, GRAPHC_F32, 2, k42),
                                  graphc_tensor_of(index, GRAPHC_I32, 1, k3)};
  static const int64_t k32[] = {3, 2};
  const graphc_tensor result = graphc_tensor_of(y, GRAPHC_F32, 2, k32);
  CHECK(graphc_graph_run(pick, inputs, 2, &result, 1, &error) == GRAPHC_ERROR_INPUT);
  CHECK(strstr(graphc_error_message(error), "index 9 at position 1") != NULL);
  CHECK(strcmp(graphc_error_file(error), "tests.graph") == 0 && graphc_error_line(error) == 7);
  graphc_error_free(error);
  error = NULL;
  index[1] = 3;
  OK(graphc_graph_run(pick, inputs, 2, &result, 1, &error));
  unsigned char flags[] = {0, 2, 1};
  const graphc_tensor masked[] = {graphc_tensor_of(flags, GRAPHC_BOOL, 1, k3),
                                  graphc_tensor_of(x, GRAPHC_F32, 1, k3)};
  const graphc_tensor out = graphc_tensor_of(y, GRAPHC_F32, 1, k3);
  FAILS(graphc_graph_run(mask, masked, 2, &out, 1, &error), GRAPHC_ERROR_INPUT,
        "its element 1 has the byte 2: a bool is 0 or 1");
  flags[1] = 1;
  OK(graphc_graph_run(mask, masked, 2, &out, 1, &error));
  CHECK(y[0] == 0 && y[1] == x[1] && y[2] == x[2]);
}

int main(void) {
  make_objects();
  test_tensors();
  test_data();
  OK(graphc_graph_free(step, &error));
  OK(graphc_graph_free(pick, &error));
  OK(graphc_graph_free(mask, &error));
  OK(graphc_session_free(session, &error));
  OK(graphc_module_free(module, &error));
  printf("%d failures\n", failures);
  return failures > 0;
}
