// SPDX-License-Identifier: Apache-2.0
// Detects that two threads use one object at once.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "ir/error.h"

namespace graphc::core {

/// The thread that currently uses an object, or none.
class OneThread {
 public:
  /// From its construction to its destruction this thread uses the object; it may enter again in
  /// between. Throws ErrorKind::input, naming the object, if another thread uses it.
  class Inside {
   public:
    Inside(OneThread& object, const std::string& name) : object_(object) {
      std::thread::id nobody;
      const std::thread::id self = std::this_thread::get_id();
      came_in_ = object.owner_.compare_exchange_strong(nobody, self, std::memory_order_acquire);
      if (came_in_ || nobody == self) return;
      throw input_error({},
                        "{} is used by two threads at once: it serves one, so give each thread "
                        "one of its own, or let one wait for the other",
                        name);
    }
    ~Inside() {
      if (came_in_) object_.owner_.store({}, std::memory_order_release);
    }
    Inside(const Inside&) = delete;

   private:
    OneThread& object_;
    bool came_in_ = false;
  };

 private:
  std::atomic<std::thread::id> owner_{};
};

}  // namespace graphc::core
