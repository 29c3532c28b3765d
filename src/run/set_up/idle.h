// Work that a run must not feel: a thread of its own that the kernel runs, and gives the disk, when
// nobody else wants them.
//
// It must take no lock that other threads of the supervisor wait for.
#pragma once

#include <functional>
#include <string_view>

#include "core/result.h"

namespace corral::run::set_up {

// Calls `work` there and waits for it. `thread` names the thread (15 characters at most), `who`
// tells its failures. The error: there is no thread to be had, and `work` was not called.
Result<> do_idly(const char* thread, std::string_view who, const std::function<void()>& work);

}  // namespace corral::run::set_up
