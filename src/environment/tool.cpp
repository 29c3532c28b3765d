#include "environment/tool.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "core/sha256.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/process.h"

namespace corral::environment {
namespace {

constexpr std::size_t kOutputBytes = 16u << 20;
constexpr std::size_t kErrorBytes = 64u << 10;
constexpr int kPollMs = 50;
constexpr Nanos kGrace{std::chrono::seconds(3)};  // between SIGTERM and SIGKILL

struct Pipe {
  sys::Fd read;
  sys::Fd write;
};
Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return fail_errno("pipe", errno);
  return Pipe{sys::Fd(fds[0]), sys::Fd(fds[1])};
}

// One running tool with its two pipes.
class Running {
 public:
  Running(const Tool& tool, const PrepareOptions& options) : tool_(tool), options_(options) {}

  Result<ToolOutput> run() {
    TRY(start());
    const BootTime deadline = sys::boot_now() + tool_.limit;
    while (out_.read || err_.read) {
      if (is_cancelled(options_)) return stop(tool_.argv[0] + ": interrupted");
      if (sys::boot_now() > deadline) return stop(tool_.argv[0] + " did not end in time");
      read_once();
    }
    report_rest();
    output_.code = reap();
    return std::move(output_);
  }

 private:
  Result<> start() {
    out_ = TRY(make_pipe());
    err_ = TRY(make_pipe());
    const sys::Fd null = TRY(sys::open_file("/dev/null", O_RDWR));
    std::vector<std::string> argv = tool_.argv;
    argv[0] = TRY(find_program(argv[0])).string();
    auto child = TRY(sys::GatedChild::spawn(
        {.argv = argv,
         .environment = environment_with(sys::own_environment(), tool_.environment),
         .directory = tool_.directory,
         .standard_input = null.get(),
         .standard_output = out_.write.get(),
         .standard_error = err_.write.get(),
         .new_session = true,
         .death_signal = SIGTERM}));
    out_.write.reset();
    err_.write.reset();
    pid_ = child.pid();
    return child.release();
  }

  void read_once() {
    std::array<pollfd, 2> waiting{
        pollfd{.fd = out_.read ? out_.read.get() : -1, .events = POLLIN, .revents = 0},
        pollfd{.fd = err_.read ? err_.read.get() : -1, .events = POLLIN, .revents = 0}};
    ::poll(waiting.data(), waiting.size(), kPollMs);
    if (waiting[0].revents != 0 && !drain(out_.read, false)) out_.read.reset();
    if (waiting[1].revents != 0 && !drain(err_.read, true)) err_.read.reset();
    // A process that it left running may hold the pipes: its own end counts.
    int status = 0;
    if (waiting[0].revents == 0 && waiting[1].revents == 0 && reap_now(status)) {
      out_.read.reset();
      err_.read.reset();
      output_.code = status;
    }
  }

  bool drain(sys::Fd& from, bool error) {
    std::array<char, 16384> buffer;
    const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
    if (n <= 0) return n < 0 && (errno == EINTR || errno == EAGAIN);
    add_output({buffer.data(), static_cast<std::size_t>(n)}, error);
    return true;
  }

  void add_output(std::string_view text, bool error) {
    if (error || tool_.reports_output) {
      output_.err.append(text);
      if (output_.err.size() > 2 * kErrorBytes)
        output_.err.erase(0, output_.err.size() - kErrorBytes);
      if (tool_.reports_output) report_lines(text);
    }
    if (!error && output_.out.size() < kOutputBytes)
      output_.out.append(text.substr(0, kOutputBytes - output_.out.size()));
  }

  // Progress bars end their pictures with \r: the last of a line counts.
  void report_lines(std::string_view text) {
    for (const char c : text) {
      if (c == '\n') {
        report_rest();
      } else if (c == '\r') {
        line_.clear();
      } else if (line_.size() < 400) {
        line_ += c;
      }
    }
  }

  void report_rest() {
    const std::string_view line = trim(line_);
    if (!line.empty()) report_progress(options_, without_credentials(to_utf8(line)));
    line_.clear();
  }

  tl::unexpected<Error> stop(std::string message) {
    if (pid_ <= 0) return fail(Code::kUnavailable, std::move(message));
    // The tool leads a session: its children are in its group, or below it.
    std::vector<pid_t> others = sys::descendants_of(pid_);
    ::kill(-pid_, SIGTERM);
    const BootTime deadline = sys::boot_now() + kGrace;
    int status = 0;
    const pid_t group = pid_;
    while (!reap_now(status) && sys::boot_now() < deadline) ::poll(nullptr, 0, kPollMs);
    ::kill(-group, SIGKILL);
    for (const pid_t pid : others) {
      if (::getsid(pid) == group) ::kill(pid, SIGKILL);
    }
    reap();
    return fail(Code::kUnavailable, std::move(message));
  }

  int reap() {
    int status = output_.code;
    while (!reap_now(status)) ::poll(nullptr, 0, 5);
    return status;
  }

  bool reap_now(int& status) {
    if (pid_ <= 0) return true;
    int raw = 0;
    const pid_t got = ::waitpid(pid_, &raw, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) return false;
    if (got == pid_) status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    pid_ = 0;
    return true;
  }

  const Tool& tool_;
  const PrepareOptions& options_;
  ToolOutput output_;
  std::string line_;  // begun and not reported yet
  Pipe out_{};
  Pipe err_{};
  pid_t pid_ = 0;
};

}  // namespace

Result<ToolOutput> run_tool(const Tool& tool, const PrepareOptions& options) {
  return Running(tool, options).run();
}

Result<ToolOutput> run_checked(const Tool& tool, const PrepareOptions& options) {
  ToolOutput output = TRY(run_tool(tool, options));
  if (output.code == 0) return output;
  std::string said = last_lines(output.err.empty() ? output.out : output.err, 3);
  return fail(Code::kUnprocessable, fmt::format("{} failed with status {}{}{}",
                                                fs::path(tool.argv[0]).filename().string(),
                                                output.code, said.empty() ? "" : ": ", said));
}

Result<fs::path> find_program(const std::string& program) {
  return sys::find_in_path(program, own_variable("PATH", "/usr/bin:/bin"));
}

Result<std::string> find_tool(const std::string& program, std::string_view advice) {
  const auto found = find_program(program);
  if (found) return found->string();
  return fail(found.error().code, fmt::format("{}; {}", found.error().message, advice));
}

std::string last_lines(std::string_view text, std::size_t lines) {
  std::vector<std::string> kept;
  const std::vector<std::string_view> all = split(text, '\n');
  for (std::size_t i = all.size(); i-- > 0 && kept.size() < lines;) {
    const std::string_view line = trim(all[i]);
    if (!line.empty()) kept.push_back(without_credentials(to_utf8(line)));
  }
  std::ranges::reverse(kept);
  return join(kept, " | ");
}

std::string without_credentials(std::string_view text) {
  constexpr std::string_view kMark = "://";
  std::string kept;
  std::size_t at = 0;
  for (;;) {
    const std::size_t mark = text.find(kMark, at);
    if (mark == std::string_view::npos) return kept += text.substr(at);
    const std::size_t host = mark + kMark.size();
    kept += text.substr(at, host - at);
    const std::size_t end = std::min(text.find_first_of("/ \t\n\"'", host), text.size());
    const std::size_t sign = text.substr(host, end - host).rfind('@');
    at = sign == std::string_view::npos ? host : host + sign + 1;
  }
}

void report_progress(const PrepareOptions& options, std::string_view line) {
  if (options.progress) options.progress(line);
}

bool is_cancelled(const PrepareOptions& options) {
  return options.cancelled && options.cancelled();
}

std::string option_value(const Spec& spec, std::string_view name, std::string_view fallback) {
  for (const auto& [key, value] : spec.options)
    if (key == name) return value;
  return std::string(fallback);
}

std::vector<std::string> option_values(const Spec& spec, std::string_view name) {
  std::vector<std::string> values;
  for (const auto& [key, value] : spec.options)
    if (key == name) values.push_back(value);
  return values;
}

fs::path resolved(std::string_view name, const PrepareOptions& options) {
  fs::path path(name);
  if (name.starts_with("~/")) path = fs::path(own_variable("HOME", "/")) / name.substr(2);
  std::error_code error;
  const fs::path base =
      options.directory.empty() ? fs::current_path(error) : fs::absolute(options.directory, error);
  return (base / path).lexically_normal();
}

std::string content_hash(std::string_view text) { return hex(sha256(text), 16); }

void note(Prepared& prepared, std::string_view key, std::string value) {
  prepared.record.emplace_back("environment." + std::string(key), std::move(value));
}

}  // namespace corral::environment
