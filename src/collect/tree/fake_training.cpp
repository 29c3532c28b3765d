// Stands in for a training process whose use of the machine is known: does what standard input
// says, one command a line, and answers each with one line "ok NUMBER" once it is done. The number
// is the truth, by the kernel's own accounts of this process or by construction.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::int64_t cpu_time(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Returns the CPU time of this process and of the children that it has waited for. It is more than
// what was asked of `burn`, whose last round may be late.
std::int64_t cpu_used() {
  const auto used = [](int whose) {
    rusage usage{};
    ::getrusage(whose, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * std::int64_t{1'000'000'000} +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * std::int64_t{1'000};
  };
  return used(RUSAGE_SELF) + used(RUSAGE_CHILDREN);
}

// Until the clock has moved on by `ns` of CPU time.
void burn(clockid_t clock, std::int64_t ns) {
  for (const std::int64_t end = cpu_time(clock) + ns; cpu_time(clock) < end;) {
    for (int i = 0; i < 100'000; ++i) {
      asm volatile("");  // kept by the optimiser
    }
  }
}

void write_bytes(const char* path, std::int64_t bytes) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::vector<char> block(64u << 10, 'x');
  while (bytes > 0) {
    const ssize_t n =
        ::write(fd, block.data(), std::min(block.size(), static_cast<std::size_t>(bytes)));
    if (n <= 0) ::_exit(3);
    bytes -= n;
  }
  ::fsync(fd);
  ::close(fd);
}

// Past the page cache: cached pages are dropped first.
std::int64_t read_bytes(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  std::vector<char> block(64u << 10);
  std::int64_t total = 0;
  for (ssize_t n = 1; (n = ::read(fd, block.data(), block.size())) > 0;) total += n;
  ::close(fd);
  return total;
}

void touch(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) ::_exit(4);
  ::madvise(memory, size, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < size; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
}

void fork_and_wait(const std::string& file, std::int64_t count, void (*work)(const char*)) {
  for (std::int64_t i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      work(file.c_str());
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }
}

void burn_in_threads(std::int64_t count, std::int64_t ns) {
  std::vector<std::thread> threads;
  for (std::int64_t i = 0; i < count; ++i)
    threads.emplace_back([ns] { burn(CLOCK_THREAD_CPUTIME_ID, ns); });
  for (std::thread& t : threads) t.join();
}

// Two threads that burn by turns for `ns` in all, 5 ms at a time, each waiting for the lock
// meanwhile.
void take_turns(std::int64_t ns) {
  std::mutex lock;
  std::condition_variable changed;
  int turn = 0;
  std::int64_t left = ns / 5'000'000;
  const auto work = [&](int own) {
    std::unique_lock held(lock);
    while (left > 0) {
      changed.wait(held, [&] { return turn == own || left <= 0; });
      burn(CLOCK_THREAD_CPUTIME_ID, 5'000'000);
      --left;
      turn = 1 - own;
      changed.notify_all();
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
}

// Burns `ns` on one CPU that a child burns on, too.
void contend(std::int64_t ns) {
  cpu_set_t before;
  ::sched_getaffinity(0, sizeof before, &before);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ::sched_setaffinity(0, sizeof one, &one);
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) burn(CLOCK_PROCESS_CPUTIME_ID, 1'000'000'000);
  }
  burn(CLOCK_PROCESS_CPUTIME_ID, ns);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::sched_setaffinity(0, sizeof before, &before);
}

// Context switches of this process, by its own account, that `count` sleeps cost.
std::int64_t switch_often(std::int64_t count) {
  const auto switches = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return std::int64_t{usage.ru_nvcsw} + usage.ru_nivcsw;
  };
  const std::int64_t before = switches();
  for (std::int64_t i = 0; i < count; ++i) {
    const timespec shortly{.tv_sec = 0, .tv_nsec = 1000};
    ::nanosleep(&shortly, nullptr);
  }
  return switches() - before;
}

std::int64_t migrate_often(std::int64_t count) {
  cpu_set_t before;
  ::sched_getaffinity(0, sizeof before, &before);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) cpus.push_back(cpu);
  }
  for (std::int64_t i = 0; i < count && cpus.size() > 1; ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[static_cast<std::size_t>(i % 2)], &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ::sched_setaffinity(0, sizeof before, &before);
  return cpus.size() > 1 ? count : -1;
}

void answer(std::int64_t number) {
  const std::string line = "ok " + std::to_string(number) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(5);
}

// Shared by a family of processes: what each of them used, by its own clock.
class Account {
 public:
  Account()
      : ns_(static_cast<std::atomic<std::int64_t>*>(::mmap(
            nullptr, sizeof *ns_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  [[noreturn]] void exit() {
    *ns_ += cpu_time(CLOCK_PROCESS_CPUTIME_ID);
    ::_exit(0);
  }
  void add(std::int64_t ns) { *ns_ += ns; }
  [[nodiscard]] std::int64_t total() const { return *ns_; }

 private:
  std::atomic<std::int64_t>* ns_;
};

// Returns when every process that has its writing end is gone.
struct Ends {
  Ends() {
    if (::pipe(ends) != 0) ::_exit(6);
  }
  void wait() {
    char c = 0;
    ::close(ends[1]);
    while (::read(ends[0], &c, 1) > 0) {
    }
    ::close(ends[0]);
  }
  int ends[2] = {-1, -1};
};

constexpr int kFamily = 100;

// A hundred processes whose parents have ended, each with some CPU time and a write.
std::int64_t make_daemons(const std::string& file, std::int64_t ns) {
  Account account;
  Ends ends;
  const std::int64_t before = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < kFamily; ++i) {
    const pid_t middle = ::fork();
    if (middle == 0) {
      ::setsid();
      if (::fork() != 0) account.exit();
      burn(CLOCK_PROCESS_CPUTIME_ID, ns);
      write_bytes((file + std::to_string(i)).c_str(), 4096);
      ::unlink((file + std::to_string(i)).c_str());
      account.exit();
    }
    ::waitpid(middle, nullptr, 0);
  }
  ends.wait();
  account.add(cpu_time(CLOCK_PROCESS_CPUTIME_ID) - before);
  return account.total();
}

// A hundred processes that end before their parent, which never waits for one.
std::int64_t neglect_children(std::int64_t ns) {
  Account account;
  const std::int64_t before = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  const pid_t careless = ::fork();
  if (careless == 0) {
    Ends ends;
    for (int i = 0; i < kFamily; ++i) {
      if (::fork() != 0) continue;
      burn(CLOCK_PROCESS_CPUTIME_ID, ns);
      account.exit();
    }
    ends.wait();
    account.exit();
  }
  ::waitpid(careless, nullptr, 0);
  account.add(cpu_time(CLOCK_PROCESS_CPUTIME_ID) - before);
  return account.total();
}

// A process whose parent ends at once; it answers in the parent's place and then waits to be
// killed.
[[noreturn]] void live_as_orphan(std::int64_t ns) {
  if (::fork() != 0) ::_exit(0);
  burn(CLOCK_PROCESS_CPUTIME_ID, ns);
  answer(::getpid());
  for (;;) ::pause();
}

void obey(const std::string& command, const std::string& file, std::int64_t n) {
  const std::int64_t used_before = cpu_used();
  if (command == "burn") {
    burn(CLOCK_PROCESS_CPUTIME_ID, n);
    answer(cpu_used() - used_before);
  } else if (command == "threads") {
    burn_in_threads(4, n);
    answer(cpu_used() - used_before);
  } else if (command == "turns") {
    take_turns(n);
    answer(cpu_used() - used_before);
  } else if (command == "contend") {
    contend(n);
    answer(cpu_used() - used_before);
  } else if (command == "children") {
    fork_and_wait("", n, [](const char*) { burn(CLOCK_PROCESS_CPUTIME_ID, 50'000'000); });
    answer(cpu_used() - used_before);
  } else if (command == "thread_child") {  // made by a thread that is not the first
    std::thread([] {
      if (::fork() != 0) return;
      answer(::getpid());
      for (;;) ::pause();
    }).join();
  } else if (command == "orphan") {
    const pid_t child = ::fork();
    if (child == 0) live_as_orphan(n);
    ::waitpid(child, nullptr, 0);
  } else if (command == "daemons") {
    answer(make_daemons(file, n));
  } else if (command == "neglected") {
    answer(neglect_children(n));
  } else if (command == "ignored") {  // a child that cannot be reaped
    ::signal(SIGCHLD, SIG_IGN);
    Account account;
    Ends ends;
    if (::fork() == 0) {
      burn(CLOCK_PROCESS_CPUTIME_ID, n);
      account.exit();
    }
    ends.wait();
    answer(account.total());
  } else if (command == "spike") {
    const pid_t child = ::fork();
    if (child == 0) {
      touch(n);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    answer(n);
  } else if (command == "touch") {
    touch(n);
    answer(n);
  } else if (command == "write") {
    write_bytes(file.c_str(), n);
    answer(n);
  } else if (command == "read") {
    answer(read_bytes(file.c_str()));
  } else if (command == "writers") {
    fork_and_wait(file, n, [](const char* path) { write_bytes(path, 2 << 20); });
    answer(n * (2 << 20));
  } else if (command == "switches") {
    answer(switch_often(n));
  } else if (command == "migrations") {
    answer(migrate_often(n));
  }
}

}  // namespace

// Usage: corral_tree_trainee FILE
int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "";
  std::string line;
  for (char c = 0; ::read(STDIN_FILENO, &c, 1) == 1;) {
    if (c != '\n') {
      line += c;
      continue;
    }
    const std::size_t blank = line.find(' ');
    obey(line.substr(0, blank), file,
         std::strtoll(line.c_str() + std::min(blank, line.size()), nullptr, 10));
    line.clear();
  }
  return 0;
}
