// A fake nvidia-cuda-mps-control for tests. `-d` starts a daemon that keeps its state in the pipe
// directory; without it, commands from the standard input go to that daemon. Never installed.
//
// FAKE_MPS: "refuse" (the daemon does not start), "stubborn" (it ignores quit and SIGTERM).
// FAKE_MPS_CLIENTS: PIDs that get_client_list returns. The received commands are in
// LOG/control.log.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

std::string variable(const char* name, const char* fallback = "") {
  const char* value = std::getenv(name);
  return value != nullptr ? value : fallback;
}

std::string pipe_directory() { return variable("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"); }
std::string pid_file() { return pipe_directory() + "/nvidia-cuda-mps-control.pid"; }

sockaddr_un address() {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::snprintf(name.sun_path, sizeof name.sun_path, "%s/control", pipe_directory().c_str());
  return name;
}

std::string answer(const std::string& command) {
  if (command.starts_with("get_server_list"))
    return variable("FAKE_MPS_CLIENTS").empty() ? "" : std::to_string(::getpid()) + "\n";
  if (command.starts_with("get_client_list")) return variable("FAKE_MPS_CLIENTS") + "\n";
  return "";
}

int serve(int listener) {
  const bool stubborn = variable("FAKE_MPS") == "stubborn";
  if (stubborn) ::signal(SIGTERM, SIG_IGN);
  std::ofstream log(variable("CUDA_MPS_LOG_DIRECTORY", "/var/log/nvidia-mps") + "/control.log");
  log << "CUDA_VISIBLE_DEVICES=" << variable("CUDA_VISIBLE_DEVICES") << std::endl;
  std::ofstream(pid_file()) << ::getpid() << "\n";
  for (;;) {
    const int client = ::accept(listener, nullptr, nullptr);
    if (client < 0) continue;
    char text[256] = {};
    if (::read(client, text, sizeof text - 1) <= 0) text[0] = '\0';
    const std::string command = text;
    log << command << std::flush;
    const std::string said = answer(command);
    const bool quit = command.starts_with("quit") && !stubborn;
    if (quit) {
      ::unlink(pid_file().c_str());
      ::unlink(address().sun_path);
    }
    [[maybe_unused]] const auto written = ::write(client, said.data(), said.size());
    ::close(client);
    if (quit) return 0;
  }
}

int start_daemon() {
  if (variable("FAKE_MPS") == "refuse") {
    std::puts("Cannot find MPS control daemon process");
    return 1;
  }
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un name = address();
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(listener, 16) != 0) {
    std::puts("An instance of this daemon is already running");
    return 1;
  }
  if (::fork() != 0) return 0;
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  return serve(listener);
}

int tell_daemon() {
  const sockaddr_un name = address();
  char line[256];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
      std::puts("Cannot find MPS control daemon process");
      return 1;
    }
    [[maybe_unused]] const auto written = ::write(socket, line, std::strlen(line));
    char said[4096];
    for (ssize_t n = 0; (n = ::read(socket, said, sizeof said)) > 0;)
      std::fwrite(said, 1, static_cast<std::size_t>(n), stdout);
    ::close(socket);
    if (std::strncmp(line, "quit", 4) == 0 && variable("FAKE_MPS") == "stubborn") return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return argc > 1 && std::strcmp(argv[1], "-d") == 0 ? start_daemon() : tell_daemon();
}
