// The child whose start bench/start.py times: prints CLOCK_BOOTTIME, in ns, at its first
// instruction. Static, so that no loader runs before.
#include <time.h>
#include <unistd.h>

#include <cstdio>

int main() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%lld\n",
                                 static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
  return ::write(STDOUT_FILENO, text, static_cast<size_t>(size)) == size ? 0 : 1;
}
