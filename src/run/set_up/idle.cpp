#include "run/set_up/idle.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/thread_guard.h"

namespace corral::run::set_up {
namespace {

// ioprio_set(2). Newer <linux/ioprio.h> is no C++.
constexpr int kIoOfThread = 1;
constexpr int kIoIdle = 3 << 13;

// Gives this thread idle priority for good: it may not be raised again.
void become_idle(const char* name) {
  ::pthread_setname_np(::pthread_self(), name);
  const sched_param idle{};
  ::sched_setscheduler(0, SCHED_IDLE, &idle);
  ::syscall(SYS_ioprio_set, kIoOfThread, 0, kIoIdle);
}

}  // namespace

Result<> do_idly(const char* thread, std::string_view who, const std::function<void()>& work) {
  std::jthread worker = TRY(sys::start_thread(who, [&] {
    become_idle(thread);
    sys::guard_call(who, work);
  }));
  worker.join();
  return {};
}

}  // namespace corral::run::set_up
