// corral: starts corral-program, which does all the work. It lies beside this file (in a build) or
// in ../lib/corral (where it was installed).
//
// Static and small, so that it starts where the program with its shared libraries cannot. If the
// program cannot start, `corral run COMMAND` executes the command itself, unrecorded. Everything
// else ends with an error. It uses libc alone, allocates nothing, and leaves no process behind.
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kFailed = 1;
constexpr int kMisuse = 2;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;
// Set by the program when it could not go on: the reason why the command runs unrecorded.
constexpr const char* kReason = "CORRAL_NOT_RECORDED";
// With a smaller stack the program is not tried.
constexpr rlim_t kLeastStack = rlim_t{512} << 10;

// Options of `corral run`, as its --help lists them (tests/e2e/test_any_limit.py compares).
constexpr const char* kWithValue[] = {
    "adopt",       "affinity",     "ca-file",     "cgroup",      "config",
    "cool-down",   "dcgm-address", "directory",   "environment", "experiment",
    "gate",        "grace",        "interval",    "interval-of", "job",
    "keep-code",   "last-word",    "leftovers",   "listeners",   "max-epochs",
    "max-steps",   "max-time",     "most-blocks", "name",        "notify",
    "only",        "order-fd",     "param",       "pass",        "profile",
    "quiet-check", "run-id",       "server",      "shuffle",     "skip",
    "slurm",       "slurm-part",   "spool",       "spool-limit", "store",
    "tag",         "tensorboard",  "token-file",  "until",       "until-interval",
    "watch",       "workload"};
constexpr const char* kWithoutValue[] = {
    "capture-mlflow", "dry-run",   "fail-fast", "hash-data", "no-capture", "no-listeners",
    "no-mask",        "no-mlflow", "no-pty",    "quiet",     "rerun",      "take-over"};
// Options that need the program: without it the command must not run.
constexpr const char* kNeedProgram[] = {"adopt",       "affinity", "cgroup",  "directory",
                                        "environment", "gate",     "order-fd"};

template <std::size_t N>
bool among(const char* const (&names)[N], const char* name, std::size_t length) {
  for (const char* one : names)
    if (std::strlen(one) == length && std::strncmp(one, name, length) == 0) return true;
  return false;
}

bool ends_with(const char* text, const char* end) {
  const std::size_t length = std::strlen(text);
  return length >= std::strlen(end) && std::strcmp(text + length - std::strlen(end), end) == 0;
}

int refuse(const char* word, const char* why, int status) {
  std::fprintf(stderr, "corral run: %s%s\n", word, why);
  return status;
}

int execute(char** words, const char* reason) {
  std::fprintf(stderr, "corral run: not recorded: %s; running the command\n", reason);
  if (ends_with(words[0], ".py")) {
    // Python takes the place of the word before, which always exists.
    const char* python = std::getenv("CORRAL_PYTHON");
    *--words = const_cast<char*>(python != nullptr && *python != '\0' ? python : "python3");
  }
  ::execvp(words[0], words);
  const int error = errno;
  std::fprintf(stderr, "corral run: %s: %s\n", words[0], std::strerror(error));
  return error == ENOENT ? kNotFound : kNotExecutable;
}

// Finds the command in `words`, the arguments behind "run", and executes it.
int run(char** words, const char* reason) {
  constexpr const char* kNeeds = " needs corral-program, which cannot be started: ";
  const char* environment = std::getenv("CORRAL_ENVIRONMENT");
  bool needs_program = environment != nullptr && *environment != '\0';
  const char* needing = "CORRAL_ENVIRONMENT";
  for (; *words != nullptr; ++words) {
    const char* const word = *words;
    if (word[0] != '-' || word[1] == '\0') break;
    if (std::strcmp(word, "--") == 0) {
      ++words;
      break;
    }
    const std::size_t length = std::strcspn(word, "=");
    const bool named = length > 2 && word[1] == '-';
    const bool takes_value = named && among(kWithValue, word + 2, length - 2);
    if (!takes_value && !(named && among(kWithoutValue, word + 2, length - 2)))
      return refuse("unknown option ", word, kMisuse);
    if (among(kNeedProgram, word + 2, length - 2)) {
      needs_program = true;
      needing = word;
    }
    if (takes_value && word[length] != '=' && *++words == nullptr)
      return refuse(word, ": needs a value", kMisuse);
  }
  if (needs_program || *words == nullptr) {
    if (!needs_program) return refuse("missing script or command", "; try: corral run train.py", 2);
    std::fprintf(stderr, "corral run: %s%s%s\n", needing, kNeeds, reason);
    return kNotExecutable;
  }
  if (ends_with(*words, ".csv") || ends_with(*words, ".yaml") || ends_with(*words, ".yml")) {
    std::fprintf(stderr, "corral run: %s%s%s\n", *words, kNeeds, reason);
    return kFailed;
  }
  return execute(words, reason);
}

// True if the program reaches its main().
bool loads(const char* program) {
  struct sigaction before {};
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &usual, &before);
  const pid_t child = ::vfork();
  if (child == 0) {
    ::close(STDOUT_FILENO);
    ::close(STDERR_FILENO);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execl(program, program, "--version", static_cast<char*>(nullptr));
    ::_exit(kNotFound);
  }
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::sigaction(SIGCHLD, &before, nullptr);
  return child > 0 && status == 0;
}

// The type of `resource` is an enumeration with glibc, an int with musl.
bool below(auto resource, rlim_t least) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur < least;
}

// Returns the reason why the program cannot be started for a run; nullptr: none.
const char* lacking(const char* program) {
  if (below(RLIMIT_STACK, kLeastStack)) return "the stack is too small (ulimit -s)";
  return loads(program) ? nullptr
                        : "corral-program cannot be loaded (its libraries, LD_LIBRARY_PATH, "
                          "ulimit -n, -u, -v, -d)";
}

// Finds the program from this file's place, even if this file was called through a link or PATH.
bool find_program(char (&path)[PATH_MAX]) {
  constexpr const char* kBeside = "corral-program";
  constexpr const char* kInstalled = "../lib/corral/corral-program";
  ssize_t n = ::readlink("/proc/self/exe", path, sizeof path - 1);
  if (n < 0) {
    const char* const called = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    if (called == nullptr || std::strlen(called) >= sizeof path) return false;
    n = static_cast<ssize_t>(std::strlen(called));
    std::memcpy(path, called, static_cast<std::size_t>(n));
  }
  path[n] = '\0';
  char* const slash = std::strrchr(path, '/');
  char* const name = slash != nullptr ? slash + 1 : path;
  if (name + std::strlen(kInstalled) >= path + sizeof path) return false;
  std::strcpy(name, kBeside);
  if (::access(path, F_OK) != 0) std::strcpy(name, kInstalled);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bool runs = argc > 1 && std::strcmp(argv[1], "run") == 0;
  const char* reason = std::getenv(kReason);
  char path[PATH_MAX];
  if (!find_program(path)) {
    reason = "the folder of corral is unknown";
  } else if (!runs || reason == nullptr) {
    reason = runs ? lacking(path) : nullptr;
    if (reason == nullptr) {
      ::execv(path, argv);
      reason = std::strerror(errno);
    }
  }
  if (runs) {
    ::unsetenv(kReason);
    return run(argv + 2, reason);
  }
  std::fprintf(stderr, "corral: %s: %s\n", path, reason);
  return kFailed;
}
