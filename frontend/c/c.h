// SPDX-License-Identifier: Apache-2.0
// The C interface of graphc, installed as <graphc/c.h>: run saved models and graphs from C, or from
// any language that calls C. Link with libgraphc.so.
//
//   graphc_error* error = NULL;
//   graphc_module* module = NULL;
//   graphc_session* session = NULL;
//   graphc_graph* graph = NULL;
//   if (graphc_module_load("model.graphc", &module, &error) ||
//       graphc_session_create(module, NULL, &session, &error) ||
//       graphc_session_compile(session, "predict", NULL, 0, &graph, &error) ||
//       graphc_graph_run(graph, inputs, 1, outputs, 1, &error)) {
//     fprintf(stderr, "%s\n", graphc_error_text(error));
//     graphc_error_free(error);
//   }
//
// Status and errors. Functions that can fail return a graphc_status: 0, GRAPHC_OK, or why not.
// `error` may be NULL; otherwise a failure sets *error to an object that the caller frees, and
// success leaves *error unchanged. A failure sets the other results to NULL or 0. No C++ exception
// leaves a function.
//
// Objects are handles, which the caller frees. They may be freed in any order: a session keeps what
// it needs of its module, a graph what it needs of its session. NULL, a handle of another kind and
// a handle that was freed are GRAPHC_ERROR_USAGE; the last is not detected once a new object has
// the same address.
//
// Text is UTF-8. Strings that functions return belong to the object and live as long as it.
//
// Threads. A module may be used by any number of threads at once, and so may the functions on no
// object. A session and its graphs serve one thread at a time: a second thread gets
// GRAPHC_ERROR_INPUT, and nothing is changed. Different sessions may run on different threads:
// those of one thread (graphc_options.threads = 1) in parallel, the others by turns. Freeing an
// object while another thread uses it is a defect of the program, and only detected for sessions
// and graphs that run. After fork(), a child process may not use a session of several threads.
//
// Versions. graphc_abi_version() counts changes of this interface that break programs; structs
// begin with their size, so that new fields can follow.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GRAPHC_API __attribute__((visibility("default")))
#else
#define GRAPHC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the interface in this header; graphc_abi_version() is that of the library.
#define GRAPHC_ABI_VERSION 1
GRAPHC_API int32_t graphc_abi_version(void);
/// The version of the library: "0.2.0".
GRAPHC_API const char* graphc_version(void);

// --- errors ---

/// Why a function failed; the numbers are the exit codes of the command-line tools.
typedef int32_t graphc_status;
enum {
  GRAPHC_OK = 0,
  GRAPHC_ERROR_INTERNAL = 1,  ///< a defect of graphc: please report it
  GRAPHC_ERROR_USAGE = 2,     ///< a wrong argument: NULL, a freed handle, an unknown option
  GRAPHC_ERROR_INPUT = 3,     ///< a program, a file or a tensor that is not what it should be
  GRAPHC_ERROR_CHECK = 4,     ///< a check that failed
  GRAPHC_ERROR_RESOURCE = 5   ///< disk, memory, device or permission
};

typedef struct graphc_error graphc_error;

// These take NULL as "no error": GRAPHC_OK, "", NULL and 0.

GRAPHC_API graphc_status graphc_error_status(const graphc_error* error);
/// What was found and what was wanted, without the position.
GRAPHC_API const char* graphc_error_message(const graphc_error* error);
/// Everything, as the command-line tools print it: `<file>:<line>: error: <message>`, then notes.
GRAPHC_API const char* graphc_error_text(const graphc_error* error);
/// The position in the program at fault: the name of its text and, counted from 1, line and column;
/// NULL and 0 where there is none. Graphs of model files have the lines of the text in the file.
GRAPHC_API const char* graphc_error_file(const graphc_error* error);
GRAPHC_API int32_t graphc_error_line(const graphc_error* error);
GRAPHC_API int32_t graphc_error_column(const graphc_error* error);
/// Frees an error. NULL and a freed error are ignored.
GRAPHC_API void graphc_error_free(graphc_error* error);

// --- types and tensors ---

/// An element type: code + (bits << 8) + (lanes << 16), the bytes of DLPack's DLDataType.
typedef uint32_t graphc_dtype;
enum {
  GRAPHC_I32 = 0x12000,
  GRAPHC_I64 = 0x14000,
  GRAPHC_U8 = 0x10801,
  GRAPHC_U32 = 0x12001,
  GRAPHC_F32 = 0x12002,
  GRAPHC_F64 = 0x14002,
  GRAPHC_BF16 = 0x11004,
  GRAPHC_BOOL = 0x10806  ///< a byte that is 0 or 1
};

enum { GRAPHC_MAX_RANK = 8 };

/// Where memory is; the numbers are DLPack's. Tensors are in the host's memory, on every target,
/// except for graphc_graph_run_on_stream(): others are GRAPHC_ERROR_INPUT.
enum { GRAPHC_DEVICE_CPU = 1, GRAPHC_DEVICE_CUDA = 2, GRAPHC_DEVICE_CUDA_HOST = 3 };

/// A view of the caller's memory, which graphc neither keeps nor frees. The layout is that of
/// DLPack's DLTensor, so a DLTensor* can be passed as it is.
///
/// An input may have any strides. One that is row-major, and aligned to its elements, is read where
/// it is; another is copied first, in every call. A tensor that a function writes, a result or the
/// target of graphc_session_read(), is row-major and aligned to its elements; otherwise
/// GRAPHC_ERROR_INPUT.
typedef struct graphc_tensor {
  void* data;  ///< the element with all indices 0, `byte_offset` less; NULL if there is no element
  int32_t device_type;     ///< GRAPHC_DEVICE_CPU, ...
  int32_t device_id;       ///< with GRAPHC_DEVICE_CUDA the GPU, counted from 0; otherwise 0
  int32_t rank;            ///< number of axes
  graphc_dtype dtype;      ///< GRAPHC_F32, ...
  const int64_t* shape;    ///< `rank` extents, outermost first; NULL for rank 0
  const int64_t* strides;  ///< `rank` steps in elements, of any sign; NULL: row-major
  uint64_t byte_offset;    ///< from `data` to the first element
} graphc_tensor;

/// A row-major tensor in the host's memory.
static inline graphc_tensor graphc_tensor_of(void* data, graphc_dtype dtype, int32_t rank,
                                             const int64_t* shape) {
  graphc_tensor tensor;
  tensor.data = data;
  tensor.device_type = GRAPHC_DEVICE_CPU;
  tensor.device_id = 0;
  tensor.rank = rank;
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.strides = NULL;
  tensor.byte_offset = 0;
  return tensor;
}

/// What an input, a result or a state is. Set `struct_size` before the call:
/// `graphc_info info = {sizeof info};`
typedef struct graphc_info {
  size_t struct_size;
  const char* name;
  graphc_dtype dtype;
  int32_t rank;
  int64_t shape[GRAPHC_MAX_RANK];
  int32_t is_written;    ///< of a graph's states: 1 if the graph writes it
  int32_t is_parameter;  ///< of states: 1 if the file calls it a parameter
} graphc_info;

// --- modules: graphs and the first values of their states; they do not change ---

typedef struct graphc_module graphc_module;

/// Parses graphs (docs/language.md). `length` bytes of text; `name` is what errors call it. States
/// are zeros.
GRAPHC_API graphc_status graphc_module_parse(const char* text, size_t length, const char* name,
                                             graphc_module** module, graphc_error** error);
/// Reads a model file, which has the values of its states, or a text of graphs.
GRAPHC_API graphc_status graphc_module_load(const char* path, graphc_module** module,
                                            graphc_error** error);
/// The number of graphs, and the name of one.
GRAPHC_API graphc_status graphc_module_graph_count(const graphc_module* module, size_t* count,
                                                   graphc_error** error);
GRAPHC_API graphc_status graphc_module_graph_name(const graphc_module* module, size_t index,
                                                  const char** name, graphc_error** error);
/// The graphs as text, which graphc_module_parse() reads.
GRAPHC_API graphc_status graphc_module_text(const graphc_module* module, const char** text,
                                            graphc_error** error);
/// NULL is ignored, here and below.
GRAPHC_API graphc_status graphc_module_free(graphc_module* module, graphc_error** error);

// --- sessions: the states of a module, and how its graphs are compiled ---

typedef struct graphc_session graphc_session;

/// Options of compilation. Set the size, and zeros for the defaults:
/// `graphc_options options = {sizeof options};`
typedef struct graphc_options {
  size_t struct_size;
  const char* target;     ///< "cpu", "cuda", "reference"; NULL: the first that can run here
  const char* precision;  ///< "f32", "f64", "bf16", ..., as the target has them; NULL: f32
  const char* variant;    ///< the list of passes; NULL: "fused"
  const char* unroll;     ///< "auto", "loop", "full" or a number; NULL: "auto"
  const char* cpu;        ///< a lesser processor to compile for: "x86-64-v3"; NULL: this one
  int32_t threads;        ///< 0: the cores that the process may use
  int32_t no_disk_cache;  ///< 1: neither reads nor writes the cache of compiled kernels on disk
  // Since 0.3. A struct_size of offsetof(graphc_options, remat) is that of a program before.
  const char* remat;  ///< the states of a loop kept for its derivative: "auto", "off" (all) or a
                      ///< number, every so many; `save_every` of a loop in the program counts more
  int64_t memory;     ///< bytes that the values of a step may take; 0: what the machine has
  /// Is called with each line that a compilation announces, such as an option without effect or a
  /// loop that is not one kernel; NULL: nothing is announced. `announce_data` is its second
  /// argument. The line lives as long as the call.
  void (*announce)(const char* line, void* data);
  void* announce_data;
  int32_t device;  ///< of target "cuda": the GPU, counted from 0
} graphc_options;

/// The states begin with the module's values. `options` may be NULL.
GRAPHC_API graphc_status graphc_session_create(const graphc_module* module,
                                               const graphc_options* options,
                                               graphc_session** session, graphc_error** error);
/// The states of the module, in its order. Under precision "f64" the states, inputs and results
/// that are f32 in the program are f64.
GRAPHC_API graphc_status graphc_session_state_count(const graphc_session* session, size_t* count,
                                                    graphc_error** error);
GRAPHC_API graphc_status graphc_session_state(const graphc_session* session, size_t index,
                                              graphc_info* info, graphc_error** error);
/// Copies the value of a state to the caller's memory, or from it.
GRAPHC_API graphc_status graphc_session_read(graphc_session* session, const char* state,
                                             const graphc_tensor* to, graphc_error** error);
GRAPHC_API graphc_status graphc_session_write(graphc_session* session, const char* state,
                                              const graphc_tensor* from, graphc_error** error);
/// Sets the states from the arrays of a safetensors file, which has all states of the module and no
/// others. On failure no state has changed.
GRAPHC_API graphc_status graphc_session_load(graphc_session* session, const char* path,
                                             graphc_error** error);
/// Writes a model file with the module's graphs and the session's states, atomically.
GRAPHC_API graphc_status graphc_session_save(graphc_session* session, const char* path,
                                             graphc_error** error);
GRAPHC_API graphc_status graphc_session_free(graphc_session* session, graphc_error** error);

// --- graphs: compiled, with the session's states ---

typedef struct graphc_graph graphc_graph;

/// Compiles the graph called `name`. With `inputs` NULL and `count` 0 it has the shapes of the
/// program; otherwise those of `inputs`, in the order of the graph's, whose data and strides are
/// not looked at. All else follows from the inputs, except for states and for extents that the
/// program spells out, as `reshape` does: if they do not fit, that is GRAPHC_ERROR_INPUT, at the
/// line that does not.
GRAPHC_API graphc_status graphc_session_compile(graphc_session* session, const char* name,
                                                const graphc_tensor* inputs, size_t count,
                                                graphc_graph** graph, graphc_error** error);

/// What a graph has.
typedef int32_t graphc_part;
enum { GRAPHC_INPUT = 0, GRAPHC_RESULT = 1, GRAPHC_STATE = 2 };

GRAPHC_API graphc_status graphc_graph_count(const graphc_graph* graph, graphc_part part,
                                            size_t* count, graphc_error** error);
GRAPHC_API graphc_status graphc_graph_describe(const graphc_graph* graph, graphc_part part,
                                               size_t index, graphc_info* info,
                                               graphc_error** error);
/// Runs the graph: reads the inputs, writes the results to the caller's memory, and updates the
/// session's states. The numbers, types and shapes must be those of the graph. A result may not
/// share memory with an input or another result. All of this is checked before anything is written;
/// after a fault in the data (an index outside its table) results and states may have some of their
/// new values.
GRAPHC_API graphc_status graphc_graph_run(graphc_graph* graph, const graphc_tensor* inputs,
                                          size_t input_count, const graphc_tensor* results,
                                          size_t result_count, graphc_error** error);
/// Runs the graph on its GPU, with target "cuda": the results are in the memory of that
/// (GRAPHC_DEVICE_CUDA), the inputs there or in the host's; those on the GPU are row-major.
/// `stream` is a CUstream or a cudaStream_t; NULL is the default one. On the GPU the run comes
/// after the work that is in `stream` at the call, and before what is put into `stream` later. The
/// call returns before the work is done, except where the data may be at fault (an index outside
/// its table). What goes wrong after it has returned is the error of a later call on the graph.
GRAPHC_API graphc_status graphc_graph_run_on_stream(graphc_graph* graph,
                                                    const graphc_tensor* inputs, size_t input_count,
                                                    const graphc_tensor* results,
                                                    size_t result_count, void* stream,
                                                    graphc_error** error);
/// Waits for the runs of graphc_graph_run_on_stream(), and fails if something went wrong in them.
GRAPHC_API graphc_status graphc_graph_synchronize(graphc_graph* graph, graphc_error** error);
GRAPHC_API graphc_status graphc_graph_free(graphc_graph* graph, graphc_error** error);

#ifdef __cplusplus
}
#endif
