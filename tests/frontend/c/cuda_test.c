// SPDX-License-Identifier: Apache-2.0
// The C interface with tensors in the memory of a GPU: that of GRAPHC_CUDA_LIBRARIES, which
// emulates one. A program of C has CUDA by other means; here it is the driver itself.
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/frontend/c/check.h"

typedef uint64_t device_address;
static int (*cuda_init)(unsigned flags);
static int (*retain)(void** context, int device);
static int (*set_current)(void* context);
static int (*allocate)(device_address* address, size_t bytes);
static int (*release)(device_address address);
static int (*make_stream)(void** stream, unsigned flags, int priority);
static int (*to_device)(device_address to, const void* from, size_t bytes, void* stream);
static int (*to_host)(void* to, device_address from, size_t bytes, void* stream);
static int (*wait)(void* stream);

static graphc_error* error = NULL;
static graphc_module* module;
static graphc_session* session;
static graphc_graph* step;
static const int64_t k23[] = {2, 3}, k22[] = {2, 2}, k32[] = {3, 2};

static void open_driver(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libcuda.so.1", getenv("GRAPHC_CUDA_LIBRARIES"));
  void* const driver = dlopen(path, RTLD_NOW);
  CHECK(driver != NULL);
  if (driver == NULL) exit(1);
#define FIND(function, symbol) *(void**)&function = dlsym(driver, symbol)
  FIND(cuda_init, "cuInit");
  FIND(retain, "cuDevicePrimaryCtxRetain");
  FIND(set_current, "cuCtxSetCurrent");
  FIND(allocate, "cuMemAlloc_v2");
  FIND(release, "cuMemFree_v2");
  FIND(make_stream, "cuStreamCreateWithPriority");
  FIND(to_device, "cuMemcpyHtoDAsync_v2");
  FIND(to_host, "cuMemcpyDtoHAsync_v2");
  FIND(wait, "cuStreamSynchronize");
  void* context = NULL;
  CHECK(cuda_init(0) == 0 && retain(&context, 0) == 0 && set_current(context) == 0);
}

static graphc_tensor on_gpu(device_address address, graphc_dtype dtype, int32_t rank,
                            const int64_t* shape) {
  graphc_tensor tensor = graphc_tensor_of((void*)address, dtype, rank, shape);
  tensor.device_type = GRAPHC_DEVICE_CUDA;
  return tensor;
}

static void make_objects(void) {
  graphc_options options = {sizeof options};
  options.target = "cuda";
  options.no_disk_cache = 1;
  OK(graphc_module_parse(kText, strlen(kText), "tests.graph", &module, &error));
  options.device = 9;
  OK(graphc_session_create(module, &options, &session, &error));
  FAILS(graphc_session_compile(session, "step", NULL, 0, &step, &error), GRAPHC_ERROR_RESOURCE,
        "no GPU 9: there is 1");
  OK(graphc_session_free(session, &error));
  options.device = 0;
  OK(graphc_session_create(module, &options, &session, &error));
  OK(graphc_session_compile(session, "step", NULL, 0, &step, &error));
  options.target = "cpu";
  options.device = 1;
  graphc_session* none = NULL;
  FAILS(graphc_session_create(module, &options, &none, &error), GRAPHC_ERROR_USAGE,
        "target 'cpu' has no option 'device'");
}

/// What `step` computes from memory of the host, and then from memory of the GPU.
static void test_results(void) {
  const float x[6] = {1, 2, 3, 4, 5, 6};
  float wanted[4], found[4];
  int64_t count = 0;
  void* stream = NULL;
  device_address from = 0, to = 0, counted = 0;
  const graphc_tensor weights = graphc_tensor_of((void*)x, GRAPHC_F32, 2, k32);
  OK(graphc_session_write(session, "w", &weights, &error));
  graphc_tensor input = graphc_tensor_of((void*)x, GRAPHC_F32, 2, k23);
  graphc_tensor results[2] = {graphc_tensor_of(wanted, GRAPHC_F32, 2, k22),
                              graphc_tensor_of(&count, GRAPHC_I64, 0, NULL)};
  OK(graphc_graph_run(step, &input, 1, results, 2, &error));
  CHECK(wanted[0] == 22 && wanted[3] == 64);
  CHECK(make_stream(&stream, 1, 0) == 0 && allocate(&from, sizeof x) == 0 &&
        allocate(&to, sizeof found) == 0 && allocate(&counted, sizeof count) == 0);
  CHECK(to_device(from, x, sizeof x, stream) == 0);
  results[0] = on_gpu(to, GRAPHC_F32, 2, k22);
  results[1] = on_gpu(counted, GRAPHC_I64, 0, NULL);
  const int64_t before = count;
  for (int place = 0; place < 2; ++place) {
    if (place == 1) input = on_gpu(from, GRAPHC_F32, 2, k23);
    OK(graphc_graph_run_on_stream(step, &input, 1, results, 2, stream, &error));
    CHECK(to_host(found, to, sizeof found, stream) == 0);
    CHECK(to_host(&count, counted, sizeof count, stream) == 0 && wait(stream) == 0);
    // The graph doubles its state.
    for (int i = 0; i < 4; ++i) CHECK(found[i] == wanted[i] * (float)(2 << place));
    CHECK(count == before + 1 + place);
  }
  OK(graphc_graph_synchronize(step, &error));

  // What is refused, before anything is written.
  graphc_tensor other = input;
  other.device_type = 8;
  FAILS(graphc_graph_run_on_stream(step, &other, 1, results, 2, stream, &error), GRAPHC_ERROR_INPUT,
        "wanted the host's (GRAPHC_DEVICE_CPU) or a GPU's");
  other = input;
  other.device_id = 1;
  FAILS(graphc_graph_run_on_stream(step, &other, 1, results, 2, stream, &error), GRAPHC_ERROR_INPUT,
        "is in the memory of GPU 1: wanted GPU 0");
  const int64_t turned[] = {1, 2};
  other = input;
  other.strides = turned;
  FAILS(graphc_graph_run_on_stream(step, &other, 1, results, 2, stream, &error), GRAPHC_ERROR_INPUT,
        "wanted row-major, because it is in the memory of a GPU");
  other = on_gpu(to, GRAPHC_F32, 2, k32);
  FAILS(graphc_graph_run_on_stream(step, &other, 1, results, 2, stream, &error), GRAPHC_ERROR_INPUT,
        "found f32[3,2]");
  other = results[1];
  results[1] = graphc_tensor_of(&count, GRAPHC_I64, 0, NULL);
  FAILS(graphc_graph_run_on_stream(step, &input, 1, results, 2, stream, &error), GRAPHC_ERROR_INPUT,
        "its memory is the host's: wanted that of a GPU");
  FAILS(graphc_graph_run(step, &input, 1, results, 2, &error), GRAPHC_ERROR_INPUT,
        "its memory is on cuda:0: wanted the host's (GRAPHC_DEVICE_CPU)");
  results[1] = other;
  results[0] = on_gpu(from, GRAPHC_F32, 2, k22);
  FAILS(graphc_graph_run_on_stream(step, &input, 1, results, 2, stream, &error), GRAPHC_ERROR_INPUT,
        "shares memory with");
  CHECK(release(from) == 0 && release(to) == 0 && release(counted) == 0);
}

int main(void) {
  open_driver();
  make_objects();
  test_results();
  graphc_graph_free(step, NULL);
  graphc_session_free(session, NULL);
  graphc_module_free(module, NULL);
  return failures > 0;
}
