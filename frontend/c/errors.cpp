// SPDX-License-Identifier: Apache-2.0
// The C interface: versions and errors.
#include "frontend/c/handles.h"

namespace core = graphc::core;

extern "C" {

int32_t graphc_abi_version(void) { return GRAPHC_ABI_VERSION; }

const char* graphc_version(void) { return GRAPHC_VERSION; }

graphc_status graphc_error_status(const graphc_error* error) {
  const core::Error* const found = core::error_of(error);
  return found == nullptr ? GRAPHC_OK : graphc_status(found->kind());
}

const char* graphc_error_message(const graphc_error* error) {
  const core::Error* const found = core::error_of(error);
  return found == nullptr ? "" : found->message().c_str();
}

const char* graphc_error_text(const graphc_error* error) {
  const core::Error* const found = core::error_of(error);
  return found == nullptr ? "" : found->what();
}

const char* graphc_error_file(const graphc_error* error) {
  const core::Error* const found = core::error_of(error);
  return found == nullptr ? nullptr : found->where().file;
}

int32_t graphc_error_line(const graphc_error* error) {
  const core::Error* const found = core::error_of(error);
  return found == nullptr ? 0 : found->where().line;
}

int32_t graphc_error_column(const graphc_error* error) {
  const core::Error* const found = core::error_of(error);
  if (found == nullptr) return 0;
  const core::Where where = found->where();
  return where.backward() ? ~where.column : where.column;
}

void graphc_error_free(graphc_error* error) {
  if (error != nullptr && core::remove_handle(error, core::HandleKind::error)) delete error;
}

}  // extern "C"
