// Idle: work that must not disturb a run, on a thread of its own that gets CPU and disk only when
// no other thread needs them.
//
// The work must take no lock that other threads of the supervisor wait for.
#pragma once

#include <functional>
#include <string_view>

#include "core/result.h"

namespace corral::run::set_up {

// Calls `work` on such a thread and waits for it. `thread` names the thread (15 characters at
// most), `who` names the work in messages of failures. On an error no thread could be started, and
// `work` was not called.
Result<> do_idly(const char* thread, std::string_view who, const std::function<void()>& work);

}  // namespace corral::run::set_up
