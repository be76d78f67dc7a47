// SPDX-License-Identifier: Apache-2.0
// A program in C that has the installed header and libgraphc.so.
#include <graphc/c.h>
#include <stdio.h>

int main(void) {
  static const char text[] = "graph @twice(%x: f32[3]) { return mul(%x, 2.) }";
  static const int64_t shape[] = {3};
  float x[] = {1, 2, 3}, y[] = {0, 0, 0};
  const graphc_tensor in = graphc_tensor_of(x, GRAPHC_F32, 1, shape);
  const graphc_tensor out = graphc_tensor_of(y, GRAPHC_F32, 1, shape);
  graphc_error* error = NULL;
  graphc_module* module = NULL;
  graphc_session* session = NULL;
  graphc_graph* graph = NULL;
  if (graphc_module_parse(text, sizeof text - 1, "twice", &module, &error) ||
      graphc_session_create(module, NULL, &session, &error) ||
      graphc_session_compile(session, "twice", NULL, 0, &graph, &error) ||
      graphc_graph_run(graph, &in, 1, &out, 1, &error)) {
    fprintf(stderr, "%s\n", graphc_error_text(error));
    return 1;
  }
  graphc_graph_free(graph, NULL);
  graphc_session_free(session, NULL);
  graphc_module_free(module, NULL);
  return !(y[0] == 2 && y[1] == 4 && y[2] == 6);
}
