#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "sys/certificates.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/http_client.h"
#include "sys/named_files.h"
#include "sys/process.h"
#include "sys/socket.h"
#include "sys/thread_guard.h"

namespace corral::sys {
namespace {

fs::path scratch(const char* name) {
  const fs::path path =
      fs::temp_directory_path() / ("corral-sys-" + std::to_string(::getpid()) + "-" + name);
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

TEST(File, ReplaceIsWholeAndLeavesNothingBehind) {
  const fs::path dir = scratch("replace");
  ASSERT_TRUE(replace_file(dir / "a", "first"));
  ASSERT_TRUE(replace_file(dir / "a", "second"));
  EXPECT_EQ(read_file(dir / "a").value(), "second");
  EXPECT_EQ(list_directory(dir), std::vector<std::string>{"a"});
}

TEST(File, ErrorsNameThePathAndTheReason) {
  const auto missing = read_file("/nonexistent/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find("/nonexistent/file"), std::string::npos);
  const fs::path dir = scratch("notdir");
  ASSERT_TRUE(replace_file(dir / "file", "x"));
  EXPECT_FALSE(make_directories(dir / "file" / "below"));
}

TEST(File, ReadStopsAtTheLimit) {
  const fs::path dir = scratch("limit");
  ASSERT_TRUE(replace_file(dir / "big", std::string(5000, 'x')));
  EXPECT_EQ(read_file(dir / "big", 4999).error().code, Code::kTooLarge);
  EXPECT_EQ(read_file(dir / "big", 5000)->size(), 5000U);
}

TEST(File, OnlyOneHoldsALock) {
  const fs::path path = scratch("lock") / "lock";
  auto first = try_lock_file(path);
  ASSERT_TRUE(first);
  EXPECT_EQ(try_lock_file(path).error().code, Code::kUnavailable);
  first->reset();
  EXPECT_TRUE(try_lock_file(path));
}

TEST(Filesystem, NetworkOnesAreKnownByTheirMagic) {
  for (const std::int64_t type : {0x6969L, 0xFF534D42L, 0xFE534D42L, 0x65735546L, 0x0BD00BD0L,
                                  0x47504653L, 0x00C36400L, 0x01021997L}) {
    EXPECT_TRUE(filesystem_kind(type).network) << std::hex << type;
  }
  for (const std::int64_t type : {0xEF53L, 0x58465342L, 0x9123683EL, 0x01021994L, 0x794C7630L}) {
    EXPECT_FALSE(filesystem_kind(type).network) << std::hex << type;
  }
  EXPECT_TRUE(filesystem_kind(static_cast<std::int32_t>(0xFF534D42)).network)
      << "sign-extended f_type";
  EXPECT_EQ(filesystem_of("/dev/shm/does/not/exist/yet")->name, "tmpfs");
}

TEST(Process, IsKnownAgainByStartTime) {
  const auto self = identity_of(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(is_alive(*self));
  ProcessIdentity other = *self;
  other.start_ticks += 1;
  EXPECT_FALSE(is_alive(other)) << "the pid was used again";
  other = *self;
  other.boot_id = std::string(32, '0');
  EXPECT_FALSE(is_alive(other)) << "another boot";
}

TEST(Process, GateHoldsTheExecBack) {
  const fs::path dir = scratch("gate");
  auto child = GatedChild::spawn(
      {.argv = {"/bin/sh", "-c", "echo ran > out"}, .environment = {}, .directory = dir});
  ASSERT_TRUE(child);
  EXPECT_FALSE(fs::exists(dir / "out"));
  ASSERT_TRUE(child->release());
  int status = 0;
  ASSERT_EQ(::waitpid(child->pid(), &status, 0), child->pid());
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_file(dir / "out").value(), "ran\n");
}

TEST(Process, ExecErrorComesBack) {
  auto child =
      GatedChild::spawn({.argv = {"/nonexistent/program"}, .environment = {}, .directory = {}});
  ASSERT_TRUE(child);
  const auto released = child->release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Code::kNotFound);
}

TEST(Process, ChildDiesUnseenWhenItsParentNeverReleases) {
  pid_t pid = 0;
  {
    auto child = GatedChild::spawn({.argv = {"/bin/true"}, .environment = {}, .directory = {}});
    ASSERT_TRUE(child);
    pid = child->pid();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 126);
}

// Ctrl-C in a terminal, while a child has been forked and has not run yet.
TEST(Process, ANewSessionIsNotReachedByTheSignalsOfTheOldOne) {
  const pid_t group = ::fork();
  if (group == 0) {
    ::setpgid(0, 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ::sched_setaffinity(0, sizeof one, &one);  // so that the child waits for its parent
    // As a supervisor has them.
    sigset_t most;
    ::sigfillset(&most);
    ::sigprocmask(SIG_SETMASK, &most, nullptr);
    int killed = 0;
    for (int i = 0; i < 20; ++i) {
      auto child = GatedChild::spawn({.argv = {"/bin/true"}, .environment = {}, .directory = {}});
      for (const int s : {SIGINT, SIGTERM, SIGHUP}) ::kill(0, s);
      int status = -1;
      if (!child || !child->release() || ::waitpid(child->pid(), &status, 0) < 0) ::_exit(99);
      killed += status != 0 ? 1 : 0;
    }
    ::_exit(killed);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(group, &status, 0), group);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "children of 20 were ended";
}

TEST(Process, CaptureGivesOutputAndStopsAtItsLimit) {
  // Helpers run at idle priority: a busy machine may keep them waiting long.
  constexpr Nanos kPatience{std::chrono::minutes(5)};
  const auto capture = [&](const char* script, int& code) {
    return capture_output({.argv = {"sh", "-c", script}, .directory = {}, .limit = kPatience},
                          &code);
  };
  int code = -1;
  EXPECT_EQ(capture("echo hello; exit 3", code).value(), "hello\n");
  EXPECT_EQ(code, 3);
  // More than anyone asked for, and than a pipe holds.
  const auto much = capture("head -c 1000000 /dev/zero; exit 4", code);
  ASSERT_TRUE(much.has_value());
  EXPECT_EQ(code, 4);
  EXPECT_LT(much->size(), 100'000u);
  const auto late = capture_output(
      {.argv = {"sleep", "100"}, .directory = {}, .limit = std::chrono::milliseconds(50)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kUnavailable);
}

TEST(Process, CaptureIsIdleUnlessAskedNotToBe) {
  const auto policy = [](bool idle) {
    return capture_output({.argv = {"cut", "-d ", "-f41", "/proc/self/stat"},
                           .directory = {},
                           .limit = std::chrono::minutes(5),
                           .idle = idle})
        .value();
  };
  EXPECT_EQ(policy(false), std::to_string(SCHED_OTHER) + "\n");
  EXPECT_EQ(policy(true), std::to_string(SCHED_IDLE) + "\n");
}

TEST(Process, PathSearchTellsMissingFromNotExecutable) {
  const fs::path dir = scratch("path");
  ASSERT_TRUE(replace_file(dir / "tool", "#!/bin/sh\n", 0644));
  EXPECT_EQ(find_in_path("tool", dir.string()).error().code, Code::kPermission);
  EXPECT_EQ(find_in_path("nosuch", dir.string()).error().code, Code::kNotFound);
  fs::permissions(dir / "tool", fs::perms(0755));
  EXPECT_EQ(find_in_path("tool", "/nonexistent:" + dir.string()).value(), dir / "tool");
  EXPECT_EQ(find_in_path(dir.string(), "").error().code, Code::kPermission) << "a directory";
}

TEST(Process, DescendantsAreFound) {
  auto child = GatedChild::spawn(
      {.argv = {"/bin/sh", "-c", "sleep 100 & wait"}, .environment = {}, .directory = {}});
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->release());
  const BootTime deadline = boot_now() + std::chrono::seconds(10);
  while (descendants_of(child->pid()).empty() && boot_now() < deadline) {
  }
  const auto found = descendants_of(child->pid());
  ASSERT_EQ(found.size(), 1U);
  ::kill(-child->pid(), SIGKILL);
  ::waitpid(child->pid(), nullptr, 0);
}

TEST(Clock, AnchorIsTightAndTrue) {
  const ClockAnchor anchor = read_anchor();
  EXPECT_LT(anchor.error, std::chrono::milliseconds(1));
  constexpr Nanos kSlack{std::chrono::milliseconds(100)};  // clocks are set now and then
  const UtcTime before = utc_now();
  const UtcTime told = anchor.to_utc(boot_now());
  EXPECT_GT(told, before - kSlack);
  EXPECT_LT(told, utc_now() + kSlack);
}

// Symbols that the dynamic linker finds for other libraries.
TEST(HttpClient, LeavesOutWhatItsLibraryBringsInForOthers) {
  const HttpClient client(HttpTarget{});
  void* asked = ::dlsym(RTLD_DEFAULT, "_gnutls_global_init_skip");
  if (asked == nullptr && ::dlopen("libgnutls.so.30", RTLD_NOW | RTLD_NOLOAD) == nullptr)
    GTEST_SKIP() << "no library here asks";
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(reinterpret_cast<int (*)()>(asked)(), 1);
}

// A server of another user at a path where a client expects its own.
class ForeignServer {
 public:
  static constexpr uid_t kUser = 65534;
  explicit ForeignServer(const fs::path& directory) : socket_(directory / "s.sock") {
    std::array<int, 2> ready{};
    CORRAL_ASSERT(::chmod(directory.c_str(), 0777) == 0 && ::pipe(ready.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) serve(ready[1]);
    ::close(ready[1]);
    char c = 0;
    EXPECT_EQ(::read(ready[0], &c, 1), 1);
    ::close(ready[0]);
  }
  // Returns the number of bytes that the first client sent; nothing if there was none.
  [[nodiscard]] std::optional<int> end() const {
    ::kill(pid_, SIGTERM);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
  }
  [[nodiscard]] const fs::path& socket() const { return socket_; }

 private:
  [[noreturn]] void serve(int ready) const {
    if (::setresuid(kUser, kUser, kUser) != 0) ::_exit(100);
    const auto listener = listen_unix(socket_);
    if (!listener || ::write(ready, "r", 1) != 1) ::_exit(101);
    const int client = ::accept(listener->get(), nullptr, nullptr);
    ::signal(SIGTERM, SIG_IGN);  // it has a client: what that sends is counted
    std::array<char, 64> buffer{};
    const ssize_t n = ::read(client, buffer.data(), buffer.size());
    ::_exit(n > 0 ? static_cast<int>(n) : 0);
  }
  fs::path socket_;
  pid_t pid_ = -1;
};

TEST(Socket, NothingIsSentToAServerOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as a second user";
  for (const bool with_own_file : {false, true}) {
    const fs::path directory = scratch("foreign");
    const ForeignServer server(directory);
    // As if a former socket of this user's had been moved there.
    if (with_own_file) {
      ASSERT_EQ(::chown(server.socket().c_str(), ::geteuid(), ::getegid()), 0);
    }
    HttpClient client({.base_url = "http://localhost",
                       .unix_socket = server.socket().string(),
                       .token = "a secret"});
    const auto reply = client.send({.path = "/", .body = {}});
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, Code::kPermission);
    EXPECT_NE(reply.error().message.find("user 65534"), std::string::npos) << reply.error().message;
    EXPECT_EQ(server.end().value_or(0), 0);
  }
}

TEST(Socket, ALinkToAnotherServerIsNotFollowed) {
  const fs::path directory = scratch("linked");
  const auto listener = listen_unix(directory / "s.sock");
  ASSERT_TRUE(listener);
  EXPECT_TRUE(connect_unix(directory / "s.sock"));
  fs::create_symlink("s.sock", directory / "link.sock");
  const auto linked = connect_unix(directory / "link.sock");
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().code, Code::kPermission);
}

TEST(ThreadGuard, CountsWhatWasThrownAndGoesOn) {
  const std::uint64_t before = thread_failures();
  EXPECT_TRUE(guard_call("a test", [] {}));
  EXPECT_FALSE(guard_call("a test", [] { throw std::runtime_error("on purpose"); }));
  EXPECT_FALSE(guard_call("a test", [] { throw 1; }));
  EXPECT_EQ(thread_failures(), before + 2);
}

TEST(ThreadGuard, AThreadThatCannotBeStartedIsAnError) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can act as a user without processes";
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kUser = 65530;
    const rlimit none{1, 1};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0 || ::setresuid(kUser, kUser, kUser) != 0)
      ::_exit(100);
    const auto thread = start_thread("a test", [] {});
    const bool told = !thread && thread.error().code == Code::kUnavailable &&
                      thread.error().message.starts_with("no thread for a test: ");
    bool thrown = false;
    try {
      [[maybe_unused]] const auto required = require_thread("a test", [] {});
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    ::_exit(told && thrown ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadGuard, AThreadLeavesAllSignalsButItsOwnFaultsToOthers) {
  sigset_t blocked;
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  start_thread("a test", [&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked); }).value().join();
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int s : {SIGINT, SIGTERM, SIGTSTP, SIGCONT, SIGWINCH, SIGCHLD}) {
    EXPECT_EQ(::sigismember(&blocked, s), 1) << s;
    EXPECT_EQ(::sigismember(&after, s), ::sigismember(&before, s)) << s;
  }
  for (const int s : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
    EXPECT_EQ(::sigismember(&blocked, s), 0) << s;
}

TEST(ThreadGuard, ALoopBeginsAgainUntilItReturnsOrIsStopped) {
  std::stop_source source;
  int calls = 0;
  guard_loop("a test", source.get_token(), [&] {
    if (++calls < 3) throw std::runtime_error("on purpose");
  });
  EXPECT_EQ(calls, 3);
  guard_loop("a test", source.get_token(), [&] {
    ++calls;
    source.request_stop();
    throw std::runtime_error("on purpose");
  });
  EXPECT_EQ(calls, 4);
}

class NamedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "corral-names-XXXXXX";
    dir_ = fs::path(::mkdtemp(pattern.data())) / "store";
    fs::create_directory(dir_);
    for (const char* name : {"db", "wal"}) {
      ASSERT_TRUE(replace_file(dir_ / name, "x"));
      held_.push_back(open_file(dir_ / name, O_RDONLY).value());
    }
  }
  void TearDown() override { fs::remove_all(dir_.parent_path()); }
  [[nodiscard]] static std::string lost(const NamedFiles& files) {
    const auto checked = files.check();
    return checked ? "" : fs::path(checked.error().message).filename().string();
  }

  fs::path dir_;
  std::vector<Fd> held_;
};

TEST_F(NamedFilesTest, EachLossIsSeenAndStays) {
  const auto all = [this] { return std::vector{dir_ / "db", dir_ / "wal", dir_ / "never"}; };
  const NamedFiles moved(all());
  const NamedFiles removed(all());
  EXPECT_EQ(lost(moved), "");
  fs::rename(dir_, dir_.parent_path() / "elsewhere");
  EXPECT_EQ(lost(moved), "db");
  fs::rename(dir_.parent_path() / "elsewhere", dir_);
  EXPECT_EQ(lost(moved), "db") << "who knows what was there meanwhile";
  EXPECT_EQ(lost(removed), "") << "nobody looked";
  fs::remove(dir_ / "wal");
  EXPECT_EQ(lost(removed), "wal");
}

TEST_F(NamedFilesTest, AnotherFileOfTheNameIsALoss) {
  const NamedFiles files({dir_ / "db"});
  ASSERT_TRUE(replace_file(dir_ / "db", "x"));
  EXPECT_EQ(lost(files), "db");
}

TEST(Certificates, AreFoundWhereDistributionsAndPythonKeepThem) {
  ::unsetenv("SSL_CERT_FILE");
  const fs::path dir = scratch("certificates");
  const auto place = [&](const fs::path& file) {
    fs::create_directories((dir / file).parent_path());
    EXPECT_TRUE(replace_file(dir / file, "x"));
    return (dir / file).string();
  };
  const fs::path program = dir / "env/lib/corral/corral-program";
  const auto found = [&] { return find_certificates(program, dir); };
  EXPECT_EQ(found(), "") << "the library's default holds";
  const std::string of_pip =
      place("env/lib/python3.11/site-packages/pip/_vendor/certifi/cacert.pem");
  EXPECT_EQ(found(), of_pip);
  EXPECT_EQ(find_certificates(dir / "env/bin/corral-program", dir), of_pip);
  const std::string of_certifi = place("env/lib/python3.11/site-packages/certifi/cacert.pem");
  EXPECT_EQ(found(), of_certifi);
  for (const char* file : {"etc/ssl/ca-bundle.pem", "etc/pki/tls/certs/ca-bundle.crt",
                           "etc/ssl/certs/ca-certificates.crt"}) {
    const std::string systems = place(file);
    EXPECT_EQ(found(), systems);
  }
  ::setenv("SSL_CERT_FILE", "/chosen.pem", 1);
  EXPECT_EQ(found(), "/chosen.pem");
  ::unsetenv("SSL_CERT_FILE");
}

}  // namespace
}  // namespace corral::sys
