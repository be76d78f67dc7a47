// SPDX-License-Identifier: Apache-2.0
// The C interface, misused: every function with every kind of bad argument gives an error.
#include <stdlib.h>

#include "tests/frontend/c/check.h"

static graphc_error* error = NULL;

/// What the functions take, each by its name.
enum slot {
  MODULE,
  SESSION,
  GRAPH,
  TEXT,
  NAME,
  PATH,
  STATE,
  COUNT,
  INFO,
  TO,
  FROM,
  NEW_TEXT,
  NEW_NAME,
  kSlots
};
static const char* const kSlotNames[kSlots] = {"module", "session", "graph", "text", "name",
                                               "path",   "state",   "count", "info", "to",
                                               "from",   "text",    "name"};

/// Where the functions put new objects. A caller passes the address of the pointer.
static graphc_module* new_module;
static graphc_session* new_session;
static graphc_graph* new_graph;

typedef graphc_status (*function)(void* const* at, graphc_error** e);

#define CALL(name, arguments) \
  static graphc_status name##_call(void* const* at, graphc_error** e) { return name arguments; }
CALL(graphc_module_parse, (at[TEXT], 5, at[NAME], &new_module, e))
CALL(graphc_module_load, (at[PATH], &new_module, e))
CALL(graphc_module_graph_count, (at[MODULE], at[COUNT], e))
CALL(graphc_module_graph_name, (at[MODULE], 0, at[NEW_NAME], e))
CALL(graphc_module_text, (at[MODULE], at[NEW_TEXT], e))
CALL(graphc_module_free, (at[MODULE], e))
CALL(graphc_session_create, (at[MODULE], NULL, &new_session, e))
CALL(graphc_session_state_count, (at[SESSION], at[COUNT], e))
CALL(graphc_session_state, (at[SESSION], 0, at[INFO], e))
CALL(graphc_session_read, (at[SESSION], at[STATE], at[TO], e))
CALL(graphc_session_write, (at[SESSION], at[STATE], at[FROM], e))
CALL(graphc_session_load, (at[SESSION], at[PATH], e))
CALL(graphc_session_save, (at[SESSION], at[PATH], e))
CALL(graphc_session_free, (at[SESSION], e))
CALL(graphc_session_compile, (at[SESSION], at[NAME], NULL, 0, &new_graph, e))
CALL(graphc_graph_count, (at[GRAPH], GRAPHC_INPUT, at[COUNT], e))
CALL(graphc_graph_describe, (at[GRAPH], GRAPHC_INPUT, 0, at[INFO], e))
CALL(graphc_graph_run, (at[GRAPH], NULL, 0, NULL, 0, e))
CALL(graphc_graph_run_on_stream, (at[GRAPH], NULL, 0, NULL, 0, NULL, e))
CALL(graphc_graph_synchronize, (at[GRAPH], e))
CALL(graphc_graph_free, (at[GRAPH], e))

struct row {
  const char* name;
  function call;
  enum slot takes[4];  ///< ends with kSlots
  int null_is_fine;    ///< of the first argument
};
#define ROW(name, fine, ...) {#name, name##_call, {__VA_ARGS__, kSlots}, fine}
/// Every function that returns a status; exports.py compares the list with the header.
static const struct row kRows[] = {
    ROW(graphc_module_parse, 0, TEXT, NAME),
    ROW(graphc_module_load, 0, PATH),
    ROW(graphc_module_graph_count, 0, MODULE, COUNT),
    ROW(graphc_module_graph_name, 0, MODULE, NEW_NAME),
    ROW(graphc_module_text, 0, MODULE, NEW_TEXT),
    ROW(graphc_module_free, 1, MODULE),
    ROW(graphc_session_create, 0, MODULE),
    ROW(graphc_session_state_count, 0, SESSION, COUNT),
    ROW(graphc_session_state, 0, SESSION, INFO),
    ROW(graphc_session_read, 0, SESSION, STATE, TO),
    ROW(graphc_session_write, 0, SESSION, STATE, FROM),
    ROW(graphc_session_load, 0, SESSION, PATH),
    ROW(graphc_session_save, 0, SESSION, PATH),
    ROW(graphc_session_free, 1, SESSION),
    ROW(graphc_session_compile, 0, SESSION, NAME),
    ROW(graphc_graph_count, 0, GRAPH, COUNT),
    ROW(graphc_graph_describe, 0, GRAPH, INFO),
    ROW(graphc_graph_run, 0, GRAPH),
    ROW(graphc_graph_run_on_stream, 0, GRAPH),
    ROW(graphc_graph_synchronize, 0, GRAPH),
    ROW(graphc_graph_free, 1, GRAPH),
};

static graphc_module* module;
static graphc_session* session;
static graphc_graph* step;

static void make_objects(void) {
  graphc_options options = {sizeof options};
  options.target = "cpu";
  options.threads = 1;
  options.no_disk_cache = 1;
  OK(graphc_module_parse(kText, strlen(kText), "tests.graph", &module, &error));
  OK(graphc_session_create(module, &options, &session, &error));
  OK(graphc_session_compile(session, "step", NULL, 0, &step, &error));
}

/// One call with one bad argument: GRAPHC_ERROR_USAGE that names the function and the argument.
static void check_refused(const struct row* row, enum slot slot, void* const* at,
                          const char* words) {
  const graphc_status status = row->call(at, &error);
  const char* const text = graphc_error_text(error);
  char argument[32];
  snprintf(argument, sizeof argument, "'%s' is ", kSlotNames[slot]);
  if (status != GRAPHC_ERROR_USAGE || strstr(text, row->name) == NULL ||
      strstr(text, argument) == NULL || strstr(text, words) == NULL) {
    fprintf(stderr, "%s with a bad '%s': status %d: %s\n", row->name, kSlotNames[slot], (int)status,
            text);
    ++failures;
  }
  graphc_error_free(error);
  error = NULL;
  // The same without an error object.
  CHECK(row->call(at, NULL) == GRAPHC_ERROR_USAGE);
}

static void test_every_bad_pointer(void) {
  graphc_module* freed_module = NULL;
  graphc_session* freed_session = NULL;
  graphc_graph* freed_graph = NULL;
  OK(graphc_module_parse(kText, strlen(kText), "tests.graph", &freed_module, &error));
  OK(graphc_session_create(freed_module, NULL, &freed_session, &error));
  OK(graphc_session_compile(freed_session, "step", NULL, 0, &freed_graph, &error));
  OK(graphc_graph_free(freed_graph, &error));
  OK(graphc_session_free(freed_session, &error));
  OK(graphc_module_free(freed_module, &error));
  void* const freed[] = {freed_module, freed_session, freed_graph};
  char word[] = "step";
  graphc_info info = {sizeof info};
  graphc_tensor tensor = {0};
  const char* out = NULL;
  size_t count = 0;
  void* const good[kSlots] = {module, session, step,    word,    word,        word,       word,
                              &count, &info,   &tensor, &tensor, (void*)&out, (void*)&out};
  for (size_t r = 0; r < sizeof kRows / sizeof *kRows; ++r) {
    const struct row* row = &kRows[r];
    for (int i = 0; row->takes[i] != kSlots; ++i) {
      const enum slot slot = row->takes[i];
      void* at[kSlots];
      memcpy(at, good, sizeof at);
      at[slot] = NULL;
      if (i > 0 || !row->null_is_fine) {
        check_refused(row, slot, at, "NULL");
      } else {
        OK(row->call(at, &error));
      }
      if (slot > GRAPH) continue;
      at[slot] = freed[slot];
      check_refused(row, slot, at, "wanted a graphc_");
      at[slot] = good[(slot + 1) % 3];
      check_refused(row, slot, at, "wanted a graphc_");
      at[slot] = &tensor;
      check_refused(row, slot, at, "no live object");
    }
  }
}

static void test_results_without_a_place(void) {
  FAILS(graphc_module_parse("", 0, "x", NULL, &error), GRAPHC_ERROR_USAGE, "'module' is NULL");
  FAILS(graphc_module_load("x", NULL, &error), GRAPHC_ERROR_USAGE, "'module' is NULL");
  FAILS(graphc_session_create(module, NULL, NULL, &error), GRAPHC_ERROR_USAGE, "'session' is NULL");
  FAILS(graphc_session_compile(session, "step", NULL, 0, NULL, &error), GRAPHC_ERROR_USAGE,
        "'graph' is NULL");
  FAILS(graphc_session_compile(session, "step", NULL, 1, &new_graph, &error), GRAPHC_ERROR_USAGE,
        "'inputs' is NULL");
}

static void test_errors(void) {
  graphc_module* none = module;
  const char text[] = "graph @f(%x: f32[2]) {\n  return sigmod(%x)\n}\n";
  CHECK(graphc_module_parse(text, sizeof text - 1, "a.graph", &none, &error) == GRAPHC_ERROR_INPUT);
  CHECK(none == NULL);
  CHECK(strcmp(graphc_error_file(error), "a.graph") == 0);
  CHECK(graphc_error_line(error) == 2 && graphc_error_column(error) == 10);
  CHECK(strncmp(graphc_error_message(error), "unknown op 'sigmod'", 19) == 0);
  CHECK(strncmp(graphc_error_text(error), "a.graph:2:10: error: ", 21) == 0);
  graphc_error_free(error);
  // Freed: what it was is gone, and that is all that happens.
  CHECK(graphc_error_status(error) == GRAPHC_ERROR_USAGE);
  CHECK(strstr(graphc_error_message(error), "no live object") != NULL);
  graphc_error_free(error);
  graphc_error_free((graphc_error*)(void*)module);
  error = NULL;
  CHECK(graphc_error_status(NULL) == GRAPHC_OK && graphc_error_file(NULL) == NULL);
  CHECK(graphc_error_line(NULL) == 0 && graphc_error_column(NULL) == 0);
  CHECK(strcmp(graphc_error_message(NULL), "") == 0 && strcmp(graphc_error_text(NULL), "") == 0);
  graphc_error_free(NULL);
  // A text that is cut off, and one of no graph.
  FAILS(graphc_module_parse(text, 12, "a.graph", &none, &error), GRAPHC_ERROR_INPUT, "a.graph:1:");
  FAILS(graphc_module_parse("", 0, "a.graph", &none, &error), GRAPHC_ERROR_INPUT, "no graph");
  FAILS(graphc_module_load("/nowhere/x.graphc", &none, &error), GRAPHC_ERROR_INPUT, "No such file");
  FAILS(graphc_session_save(session, "/nowhere/x.graphc", &error), GRAPHC_ERROR_RESOURCE,
        "No such file");
  FAILS(graphc_session_load(session, "/nowhere/x", &error), GRAPHC_ERROR_INPUT, "No such file");
}

static void test_options(void) {
  graphc_session* none = session;
  graphc_options options = {0};
#define REFUSED(status, words) \
  FAILS(graphc_session_create(module, &options, &none, &error), status, words)
  REFUSED(GRAPHC_ERROR_USAGE, "struct_size of 0");
  options.struct_size = sizeof options;
  options.target = "cpo";
  REFUSED(GRAPHC_ERROR_USAGE, "did you mean 'cpu'?");
  options.target = "cpu";
  options.precision = "f17";
  REFUSED(GRAPHC_ERROR_USAGE, "f17");
  options.precision = "f32";
  options.variant = "fusd";
  REFUSED(GRAPHC_ERROR_USAGE, "fusd");
  options.variant = NULL;
  options.threads = -1;
  REFUSED(GRAPHC_ERROR_USAGE, "found -1");
  options.threads = 1;
  options.cpu = "8086";
  REFUSED(GRAPHC_ERROR_USAGE, "8086");
  options.cpu = NULL;
  options.memory = -1;
  REFUSED(GRAPHC_ERROR_USAGE, "memory: wanted bytes, or 0: found -1");
  options.memory = 0;
  options.struct_size = offsetof(graphc_options, remat) - 1;
  REFUSED(GRAPHC_ERROR_USAGE, "struct_size");
  options.struct_size = sizeof options;
  options.target = "reference";
  REFUSED(GRAPHC_ERROR_USAGE, "target 'reference' has no option 'threads'");
  options.threads = 0;
  options.remat = "off";
  REFUSED(GRAPHC_ERROR_USAGE, "target 'reference' has no option 'remat'");
  CHECK(none == NULL);
  graphc_info info = {sizeof info - 1};
  FAILS(graphc_session_state(session, 0, &info, &error), GRAPHC_ERROR_USAGE, "struct_size");
  info.struct_size = sizeof info;
  FAILS(graphc_session_state(session, 2, &info, &error), GRAPHC_ERROR_USAGE, "there is no state 2");
  FAILS(graphc_graph_describe(step, GRAPHC_RESULT, 2, &info, &error), GRAPHC_ERROR_USAGE,
        "there is no result 2");
  FAILS(graphc_graph_describe(step, 3, 0, &info, &error), GRAPHC_ERROR_USAGE, "'part' is 3");
  const char* name = "";
  FAILS(graphc_module_graph_name(module, 6, &name, &error), GRAPHC_ERROR_USAGE, "no graph 6");
  CHECK(name == NULL);
}

int main(void) {
  make_objects();
  test_every_bad_pointer();
  test_results_without_a_place();
  test_errors();
  test_options();
  OK(graphc_graph_free(step, &error));
  FAILS(graphc_graph_free(step, &error), GRAPHC_ERROR_USAGE, "no live object");
  OK(graphc_session_free(session, &error));
  OK(graphc_module_free(module, &error));
  printf("%d failures\n", failures);
  return failures > 0;
}
