// SPDX-License-Identifier: Apache-2.0
// The C interface, used as it should be: parse, compile, run, states, files, threads.
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "tests/frontend/c/check.h"

// DLPack's DLTensor on a 64-bit machine.
_Static_assert(offsetof(graphc_tensor, device_type) == 8, "DLTensor::device");
_Static_assert(offsetof(graphc_tensor, rank) == 16, "DLTensor::ndim");
_Static_assert(offsetof(graphc_tensor, dtype) == 20, "DLTensor::dtype");
_Static_assert(offsetof(graphc_tensor, shape) == 24, "DLTensor::shape");
_Static_assert(offsetof(graphc_tensor, strides) == 32, "DLTensor::strides");
_Static_assert(offsetof(graphc_tensor, byte_offset) == 40, "DLTensor::byte_offset");
_Static_assert(sizeof(graphc_tensor) == 48, "DLTensor");

static graphc_error* error = NULL;
static const float kX[6] = {1, 2, 3, -4, 5, 0.5F};
static const float kW[6] = {0.5F, -1, 2, 0.25F, 1, 3};
static const int64_t k23[] = {2, 3}, k32[] = {3, 2}, k22[] = {2, 2};

static graphc_module* parsed(void) {
  graphc_module* module = NULL;
  OK(graphc_module_parse(kText, strlen(kText), "tests.graph", &module, &error));
  return module;
}

static graphc_session* session_of(const graphc_module* module, const char* target, int threads) {
  graphc_session* session = NULL;
  graphc_options options = {sizeof options};
  options.target = target;
  options.threads = strcmp(target, "cpu") == 0 ? threads : 0;
  options.no_disk_cache = 1;
  OK(graphc_session_create(module, &options, &session, &error));
  return session;
}

static graphc_graph* compiled(graphc_session* session, const char* name) {
  graphc_graph* graph = NULL;
  OK(graphc_session_compile(session, name, NULL, 0, &graph, &error));
  return graph;
}

static void check_product(const float* y, float scale) {
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      float sum = 0;
      for (int k = 0; k < 3; ++k) sum += kX[3 * i + k] * kW[2 * k + j] * scale;
      CHECK(fabsf(y[2 * i + j] - sum) < 1e-5F);
    }
  }
}

static void check_descriptions(const graphc_graph* graph) {
  graphc_info info = {sizeof info};
  size_t count = 0;
  OK(graphc_graph_count(graph, GRAPHC_INPUT, &count, &error));
  CHECK(count == 1);
  OK(graphc_graph_describe(graph, GRAPHC_INPUT, 0, &info, &error));
  CHECK(strcmp(info.name, "x") == 0 && info.dtype == GRAPHC_F32 && info.rank == 2);
  CHECK(info.shape[0] == 2 && info.shape[1] == 3 && info.shape[2] == 0);
  OK(graphc_graph_count(graph, GRAPHC_RESULT, &count, &error));
  CHECK(count == 2);
  OK(graphc_graph_describe(graph, GRAPHC_RESULT, 1, &info, &error));
  CHECK(strcmp(info.name, "n") == 0 && info.dtype == GRAPHC_I64 && info.rank == 0);
  OK(graphc_graph_count(graph, GRAPHC_STATE, &count, &error));
  CHECK(count == 2);
  OK(graphc_graph_describe(graph, GRAPHC_STATE, 0, &info, &error));
  CHECK(strcmp(info.name, "w") == 0 && info.is_written == 1 && info.is_parameter == 0);
}

/// Runs a graph with states twice; in f64 the caller's f32 are f64.
static void test_states(const char* target) {
  graphc_module* module = parsed();
  graphc_session* session = session_of(module, target, 0);
  OK(graphc_module_free(module, &error));
  graphc_graph* graph = compiled(session, "step");
  check_descriptions(graph);
  size_t states = 0;
  OK(graphc_session_state_count(session, &states, &error));
  CHECK(states == 2);
  graphc_info info = {sizeof info};
  OK(graphc_session_state(session, 1, &info, &error));
  CHECK(strcmp(info.name, "n") == 0);

  float w[6], y[4], x[6];
  memcpy(w, kW, sizeof w);
  memcpy(x, kX, sizeof x);
  const graphc_tensor w_tensor = graphc_tensor_of(w, GRAPHC_F32, 2, k32);
  OK(graphc_session_write(session, "w", &w_tensor, &error));
  // The first element of w is read when the state is written, not later.
  w[0] = 77;
  int64_t n = -1;
  const graphc_tensor inputs[] = {graphc_tensor_of(x, GRAPHC_F32, 2, k23)};
  const graphc_tensor results[] = {graphc_tensor_of(y, GRAPHC_F32, 2, k22),
                                   graphc_tensor_of(&n, GRAPHC_I64, 0, NULL)};
  for (int run = 0; run < 3; ++run) {
    OK(graphc_graph_run(graph, inputs, 1, results, 2, &error));
    check_product(y, (float)(1 << run));
    CHECK(n == run);
  }
  // What is freed first does not matter: the graph keeps its session.
  OK(graphc_session_read(session, "w", &w_tensor, &error));
  CHECK(w[0] == 8 * kW[0] && w[5] == 8 * kW[5]);
  OK(graphc_session_free(session, &error));
  OK(graphc_graph_run(graph, inputs, 1, results, 2, &error));
  CHECK(n == 3);
  OK(graphc_graph_free(graph, &error));
}

/// Inputs with any strides and places give the bits of row-major ones.
static void test_strides(const char* target) {
  graphc_module* module = parsed();
  graphc_session* session = session_of(module, target, 1);
  graphc_graph* graph = compiled(session, "cell");
  static const int64_t kXs[] = {5, 2, 3};
  float x[30], h0[6], y[30], h[6], y2[30], h2[6], spread[240], bytes[31];
  for (int i = 0; i < 30; ++i) x[i] = (float)(i * i % 17) / 8 - 1;
  for (int i = 0; i < 6; ++i) h0[i] = (float)i / 5;
  graphc_tensor inputs[] = {graphc_tensor_of(x, GRAPHC_F32, 3, kXs),
                            graphc_tensor_of(h0, GRAPHC_F32, 2, k23)};
  graphc_tensor results[] = {graphc_tensor_of(y, GRAPHC_F32, 3, kXs),
                             graphc_tensor_of(h, GRAPHC_F32, 2, k23)};
  OK(graphc_graph_run(graph, inputs, 2, results, 2, &error));
  const double first = tanh((double)x[0] + (double)h0[0]);
  CHECK(fabs((double)y[0] - first) < 1e-5);
  CHECK(memcmp(y + 24, h, sizeof h) == 0);
  results[0].data = y2;
  results[1].data = h2;
  static const int64_t kStrides[][3] = {{1, 5, 10}, {-6, 3, 1}, {6, -3, -1}, {40, 20, 2}};
  for (size_t s = 0; s < 4; ++s) {
    const int64_t* strides = kStrides[s];
    int64_t low = 0;
    for (int axis = 0; axis < 3; ++axis)
      if (strides[axis] < 0) low -= strides[axis] * (kXs[axis] - 1);
    for (int64_t i = 0; i < 30; ++i)
      spread[low + i / 6 * strides[0] + i / 3 % 2 * strides[1] + i % 3 * strides[2]] = x[i];
    inputs[0].data = spread;
    inputs[0].byte_offset = (uint64_t)low * sizeof(float);
    inputs[0].strides = strides;
    memset(y2, 0, sizeof y2);
    OK(graphc_graph_run(graph, inputs, 2, results, 2, &error));
    CHECK(memcmp(y, y2, sizeof y) == 0);
    CHECK(memcmp(h, h2, sizeof h) == 0);
  }
  // Not aligned to its elements.
  memcpy((char*)bytes + 1, x, sizeof x);
  inputs[0].data = (char*)bytes + 1;
  inputs[0].byte_offset = 0;
  inputs[0].strides = NULL;
  memset(y2, 0, sizeof y2);
  OK(graphc_graph_run(graph, inputs, 2, results, 2, &error));
  CHECK(memcmp(y, y2, sizeof y) == 0);
  OK(graphc_graph_free(graph, &error));
  OK(graphc_session_free(session, &error));
  OK(graphc_module_free(module, &error));
}

/// Another batch and number of steps than those of the text.
static void test_shapes(void) {
  graphc_module* module = parsed();
  graphc_session* session = session_of(module, "cpu", 1);
  static const int64_t kXs[] = {2, 4, 7}, kHs[] = {4, 7}, kWrong[] = {4, 6};
  graphc_tensor inputs[] = {graphc_tensor_of(NULL, GRAPHC_F32, 3, kXs),
                            graphc_tensor_of(NULL, GRAPHC_F32, 2, kHs)};
  graphc_graph* graph = NULL;
  OK(graphc_session_compile(session, "cell", inputs, 2, &graph, &error));
  graphc_info info = {sizeof info};
  OK(graphc_graph_describe(graph, GRAPHC_RESULT, 0, &info, &error));
  CHECK(info.rank == 3 && info.shape[0] == 2 && info.shape[1] == 4 && info.shape[2] == 7);
  float x[56], h0[28], y[56], h[28];
  for (int i = 0; i < 56; ++i) x[i] = (float)(i % 11) / 10;
  for (int i = 0; i < 28; ++i) h0[i] = (float)(i % 5) / 10;
  inputs[0].data = x;
  inputs[1].data = h0;
  const graphc_tensor results[] = {graphc_tensor_of(y, GRAPHC_F32, 3, kXs),
                                   graphc_tensor_of(h, GRAPHC_F32, 2, kHs)};
  OK(graphc_graph_run(graph, inputs, 2, results, 2, &error));
  for (int i = 0; i < 28; ++i) {
    const double after_one = tanh((double)x[i] + (double)h0[i]);
    CHECK(fabs((double)h[i] - tanh((double)x[28 + i] + after_one)) < 1e-5);
  }
  OK(graphc_graph_free(graph, &error));
  inputs[1].shape = kWrong;
  FAILS(graphc_session_compile(session, "cell", inputs, 2, &graph, &error), GRAPHC_ERROR_INPUT,
        "tests.graph:11:");
  inputs[1].rank = 1;
  FAILS(graphc_session_compile(session, "cell", inputs, 2, &graph, &error), GRAPHC_ERROR_INPUT,
        "input 'h0' is f32[2,3]: found f32[4]: only the extents may differ");
  FAILS(graphc_session_compile(session, "cell", inputs, 1, &graph, &error), GRAPHC_ERROR_INPUT,
        "has 2 inputs: found 1");
  inputs[0].rank = 2;
  FAILS(graphc_session_compile(session, "fixed", inputs, 1, &graph, &error), GRAPHC_ERROR_INPUT,
        "tests.graph:");
  FAILS(graphc_session_compile(session, "stepp", NULL, 0, &graph, &error), GRAPHC_ERROR_INPUT,
        "step");
  CHECK(graph == NULL);
  OK(graphc_session_free(session, &error));
  OK(graphc_module_free(module, &error));
}

/// What a session saves, another process could load.
static void test_files(const char* path) {
  graphc_module* module = parsed();
  graphc_session* session = session_of(module, "reference", 0);
  float w[6];
  memcpy(w, kW, sizeof w);
  const graphc_tensor tensor = graphc_tensor_of(w, GRAPHC_F32, 2, k32);
  OK(graphc_session_write(session, "w", &tensor, &error));
  OK(graphc_session_save(session, path, &error));
  graphc_module* loaded = NULL;
  OK(graphc_module_load(path, &loaded, &error));
  const char *before = NULL, *after = NULL, *name = NULL;
  OK(graphc_module_text(module, &before, &error));
  OK(graphc_module_text(loaded, &after, &error));
  CHECK(strcmp(before, after) == 0);
  size_t graphs = 0;
  OK(graphc_module_graph_count(loaded, &graphs, &error));
  CHECK(graphs == 6);
  OK(graphc_module_graph_name(loaded, 1, &name, &error));
  CHECK(strcmp(name, "pick") == 0);
  graphc_session* other = session_of(loaded, "reference", 0);
  memset(w, 0, sizeof w);
  OK(graphc_session_read(other, "w", &tensor, &error));
  CHECK(memcmp(w, kW, sizeof w) == 0);
  // The arrays of the file alone, into a session whose state has changed.
  memset(w, 0, sizeof w);
  OK(graphc_session_write(other, "w", &tensor, &error));
  OK(graphc_session_load(other, path, &error));
  OK(graphc_session_read(other, "w", &tensor, &error));
  CHECK(memcmp(w, kW, sizeof w) == 0);
  OK(graphc_session_free(other, &error));
  OK(graphc_session_free(session, &error));
  OK(graphc_module_free(loaded, &error));
  OK(graphc_module_free(module, &error));
  remove(path);
}

/// A derivative of a loop whose states take more than 64 KiB, and that asks for what it cannot
/// have.
static const char kDerivative[] =
    "graph @descend(%x: f32[400,64], %h0: f32[64]) state (%w: f32[64]) {\n"
    "  %y, %h.end = scan {save_every = 500} %x.t in %x carry %h = %h0 with %w {\n"
    "    %h.1 = tanh(add(mul(%h, %w), %x.t))\n"
    "    next %h = %h.1\n"
    "    emit %h.1\n"
    "  }\n"
    "  %loss = sum(mul(%y, %y)) {axes = [0, 1]}\n"
    "  %dw = grad %loss, %w\n"
    "  return %loss, %dw\n"
    "}\n";

struct lines {
  int memory, save_every;
};

static void count_line(const char* line, void* data) {
  struct lines* lines = data;
  lines->memory += strstr(line, "memory: the step needs ") != NULL;
  lines->save_every += strstr(line, "save_every = 500 has no effect") != NULL;
}

/// Options of derivatives, and what a compilation announces.
static void test_notices(void) {
  graphc_module* module = NULL;
  OK(graphc_module_parse(kDerivative, strlen(kDerivative), "descend.graph", &module, &error));
  struct lines lines = {0, 0};
  graphc_options options = {sizeof options};
  options.target = "cpu";
  options.no_disk_cache = 1;
  options.memory = 64 << 10;
  options.announce = count_line;
  options.announce_data = &lines;
  graphc_session* session = NULL;
  OK(graphc_session_create(module, &options, &session, &error));
  OK(graphc_graph_free(compiled(session, "descend"), &error));
  CHECK(lines.memory == 1 && lines.save_every == 1);
  OK(graphc_session_free(session, &error));
  // Told how many states to save, it does not look at the memory.
  options.remat = "20";
  OK(graphc_session_create(module, &options, &session, &error));
  OK(graphc_graph_free(compiled(session, "descend"), &error));
  CHECK(lines.memory == 1 && lines.save_every == 2);
  OK(graphc_session_free(session, &error));
  // A program that was compiled before there were these options.
  options.struct_size = offsetof(graphc_options, remat);
  OK(graphc_session_create(module, &options, &session, &error));
  OK(graphc_graph_free(compiled(session, "descend"), &error));
  CHECK(lines.memory == 1 && lines.save_every == 2);
  OK(graphc_session_free(session, &error));
  OK(graphc_module_free(module, &error));
}

struct shared {
  graphc_graph* graph;
  float h0[64], h[64];
  graphc_status status;
  int runs;
};

static const int64_t k64[] = {64};
static atomic_int refused = 0;

static void* run_long(void* argument) {
  struct shared* shared = argument;
  const graphc_tensor input = graphc_tensor_of(shared->h0, GRAPHC_F32, 1, k64);
  const graphc_tensor result = graphc_tensor_of(shared->h, GRAPHC_F32, 1, k64);
  for (int i = 0; i < shared->runs && !atomic_load(&refused); ++i) {
    shared->status = graphc_graph_run(shared->graph, &input, 1, &result, 1, NULL);
    if (shared->status != GRAPHC_OK) atomic_store(&refused, 1);
  }
  return NULL;
}

/// Sessions of one thread run side by side; a second thread in one session is told so.
static void test_threads(void) {
  graphc_module* module = parsed();
  enum { kThreads = 3 };
  graphc_session* sessions[kThreads];
  struct shared shared[kThreads];
  pthread_t threads[kThreads];
  memset(shared, 0, sizeof shared);
  for (int i = 0; i < kThreads; ++i) {
    sessions[i] = session_of(module, "cpu", 1);
    shared[i].graph = compiled(sessions[i], "long");
    shared[i].runs = 1;
  }
  for (int i = 0; i < kThreads; ++i)
    CHECK(pthread_create(&threads[i], NULL, run_long, &shared[i]) == 0);
  for (int i = 0; i < kThreads; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(shared[i].status == GRAPHC_OK);
    CHECK(memcmp(shared[i].h, shared[0].h, sizeof shared[0].h) == 0);
  }
  // Two threads that use one session until one of them is refused.
  struct shared second = {shared[0].graph, {0}, {0}, GRAPHC_OK, 1000};
  shared[0].runs = 1000;
  CHECK(pthread_create(&threads[0], NULL, run_long, &shared[0]) == 0);
  run_long(&second);
  CHECK(pthread_join(threads[0], NULL) == 0);
  CHECK(shared[0].status == GRAPHC_ERROR_INPUT || second.status == GRAPHC_ERROR_INPUT);
  for (int i = 0; i < kThreads; ++i) {
    OK(graphc_graph_free(shared[i].graph, &error));
    OK(graphc_session_free(sessions[i], &error));
  }
  OK(graphc_module_free(module, &error));
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  CHECK(graphc_abi_version() == GRAPHC_ABI_VERSION);
  CHECK(strlen(graphc_version()) >= 5);
  test_states("cpu");
  test_states("reference");
  test_strides("cpu");
  test_strides("reference");
  test_shapes();
  test_files(arguments[1]);
  test_notices();
  test_threads();
  printf("%d failures\n", failures);
  return failures > 0;
}
