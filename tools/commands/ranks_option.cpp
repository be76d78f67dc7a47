// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/ranks_option.h"

#include <algorithm>
#include <exception>
#include <new>

#include "ir/utf8.h"
#include "runtime/cores.h"
#include "runtime/ranks/agree.h"
#include "runtime/ranks/one_rank.h"
#include "runtime/streams.h"
#include "tools/commands/commands.h"

namespace graphc::core::commands {

std::shared_ptr<Ranks> launched_ranks(const std::string& with_ranks) {
  if (with_ranks == "on") return Ranks::world();
  if (with_ranks == "off") return std::make_shared<OneRank>();
  throw usage_error("--ranks is on or off: found '{}'", with_ranks);
}

std::string ranks_text(Ranks& ranks, int threads) {
  const std::vector<int> local = gathered(ranks, ranks.local_rank());
  const std::vector<int> all = gathered(ranks, threads > 0 ? threads : default_thread_count());
  const auto [least, most] = std::ranges::minmax(all);
  const auto machines = std::ranges::count(local, 0);
  return fmt::format("{} ranks on {} machine{} ({}), {} thread{} each", ranks.count(), machines,
                     machines == 1 ? "" : "s", ranks.engine(),
                     least == most ? fmt::to_string(least) : fmt::format("{} to {}", least, most),
                     most == 1 ? "" : "s");
}

int report_on_ranks(Ranks& ranks, bool is_alike) {
  const std::exception_ptr fault = std::current_exception();
  std::string message;
  int status = int(ErrorKind::internal);
  try {
    if (is_alike) together(ranks, [&] { std::rethrow_exception(fault); });
    std::rethrow_exception(fault);
  } catch (const AgreedError& error) {
    if (ranks.rank() == 0) write_message(error.what());
    return error.exit_code();
  } catch (const Error& error) {
    message = error.what();
    status = error.exit_code();
  } catch (const std::bad_alloc&) {
    message = "error: out of memory";
    status = int(ErrorKind::resource);
  } catch (const std::exception& error) {
    message = "internal error: " + printable_message(error.what());
  }
  ranks.abort(fmt::format("{}\n  note: on rank {} of {}", message, ranks.rank(), ranks.count()),
              status);
  return status;
}

}  // namespace graphc::core::commands
