#include "store/open/test_postgres.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "store/engine/postgres/database.h"
#include "sys/clock.h"

namespace corral::store::testing {
namespace {

namespace fs = std::filesystem;

fs::path find_programs() {
  std::error_code error;
  fs::path newest;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    const fs::path bin = version.path() / "bin";
    if (fs::exists(bin / "initdb", error) && bin > newest) newest = bin;
  }
  return newest;
}

// Durable like a real one, small, and silent; only `guarded` needs a password.
constexpr const char* kConfiguration =
    "listen_addresses = ''\n"
    "fsync = on\n"
    "recovery_init_sync_method = syncfs\n"
    "shared_buffers = 32MB\n"
    "max_connections = 60\n"
    "deadlock_timeout = 100ms\n"
    "log_min_messages = warning\n";
constexpr const char* kAccess =
    "local all guarded scram-sha-256\n"
    "local all all trust\n";

}  // namespace

Result<std::unique_ptr<PostgresServer>> PostgresServer::start_new() {
  std::unique_ptr<PostgresServer> server(new PostgresServer);
  server->bin_ = find_programs();
  if (server->bin_.empty()) return fail(Code::kNotFound, "PostgreSQL is not installed");
  TRY(server->make());
  TRY(server->start());
  return server;
}

Result<PostgresServer*> PostgresServer::shared() {
  static Result<std::unique_ptr<PostgresServer>> server = start_new();
  if (!server) return tl::unexpected(server.error());
  return server->get();
}

PostgresServer::~PostgresServer() {
  stop_at_once();
  std::error_code error;
  if (!directory_.empty()) fs::remove_all(directory_, error);
}

Result<> PostgresServer::make() {
  std::string pattern = (fs::temp_directory_path() / "corral-pg-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return fail_errno(pattern, errno);
  directory_ = pattern;
  user_ = ::geteuid();
  group_ = ::getegid();
  if (user_ == 0) {
    const passwd* postgres = ::getpwnam("postgres");
    if (postgres == nullptr) return fail(Code::kNotFound, "there is no user postgres");
    user_ = postgres->pw_uid;
    group_ = postgres->pw_gid;
    if (::chown(directory_.c_str(), user_, group_) != 0) return fail_errno(pattern, errno);
  }
  if (::chmod(directory_.c_str(), 0755) != 0) return fail_errno(pattern, errno);
  const fs::path data = directory_ / "data";
  TRY(run({bin_ / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C",
           "--no-sync"}));
  std::ofstream(data / "postgresql.conf", std::ios::app)
      << kConfiguration << "unix_socket_directories = '" << directory_.string() << "'\n";
  std::ofstream(data / "pg_hba.conf") << kAccess;
  return {};
}

// Everything is prepared before the fork: the child of a process with threads may do little.
pid_t PostgresServer::spawn(const std::vector<std::string>& command) const {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  const std::string log = directory_ / "log";
  const bool change = ::geteuid() != user_;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setpgid(0, 0);
  if (change && (::setgroups(0, nullptr) != 0 || ::setgid(group_) != 0 || ::setuid(user_) != 0))
    ::_exit(126);
  // After the change of user, which would undo it.
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  if (::getppid() != parent) ::_exit(125);
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (::chdir(directory_.c_str()) != 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 ||
      ::dup2(out, 2) < 0)
    ::_exit(124);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

Result<> PostgresServer::run(const std::vector<std::string>& command) const {
  const pid_t child = spawn(command);
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
    std::ifstream log(directory_ / "log");
    const std::string text{std::istreambuf_iterator<char>(log), {}};
    return fail(Code::kInternal, command.at(0) + ": " + text);
  }
  return {};
}

Result<> PostgresServer::start() {
  server_ = spawn({bin_ / "postgres", "-D", directory_ / "data"});
  const BootTime until = sys::boot_now() + std::chrono::seconds(60);
  for (;;) {
    auto opened = postgres::open_database(admin_url(), postgres::Mode::kReadOnly);
    if (opened) return {};
    int status = 0;
    if (::waitpid(server_, &status, WNOHANG) == server_) {
      server_ = -1;
      return fail(Code::kInternal, "the server ended: see " + (directory_ / "log").string());
    }
    if (sys::boot_now() > until) return tl::unexpected(opened.error());
    sys::system_clock().sleep_until(sys::boot_now() + std::chrono::milliseconds(5));
  }
}

void PostgresServer::stop_at_once() {
  if (server_ <= 0) return;
  ::kill(server_, SIGQUIT);
  ::waitpid(server_, nullptr, 0);
  server_ = -1;
}

std::string PostgresServer::admin_url() const {
  return fmt::format("postgresql://postgres@/postgres?host={}", directory_.string());
}

std::string PostgresServer::url(const std::string& user, const std::string& database,
                                const std::string& schema) const {
  return fmt::format("postgresql://{}@/{}?host={}&options=-csearch_path%3D{}", user, database,
                     directory_.string(), schema);
}

Result<std::string> PostgresServer::new_schema() {
  const std::string name = fmt::format("t{}", ++schemas_);
  auto admin = TRY(postgres::open_database(admin_url(), postgres::Mode::kReadWrite));
  TRY(admin->script(fmt::format(
      "CREATE ROLE {0} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE; CREATE SCHEMA {0} AUTHORIZATION "
      "{0}",
      name)));
  return url(name, "postgres", name);
}

}  // namespace corral::store::testing
