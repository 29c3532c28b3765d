// corral open: the page of a run, or of the store, in the browser.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>

#include <cstdio>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/ids.h"
#include "core/text.h"
#include "sys/clock.h"
#include "sys/process.h"
#include "sys/socket.h"

namespace corral::cli {
namespace {

constexpr const char* kOpenExamples =
    "  corral open          the list of runs\n"
    "  corral open @1       the newest run\n"
    "  corral open --print  only print the address\n";

struct OpenFlags {
  DestinationFlags destination;
  std::string run;
  bool print = false;
};

// The program that opens addresses as the desktop does; empty without a desktop or browser.
std::string opener() {
  bool desktop = false;
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"})
    desktop |= !sys::own_variable(name).empty();
  const auto found = sys::find_in_path("xdg-open");
  return desktop && found ? found->string() : std::string();
}

// Returns false if the desktop refused the address.
Result<bool> open_address(const std::string& program, const std::string& address) {
  const sys::Fd nothing = TRY(sys::open_file("/dev/null", O_RDWR));
  sys::GatedChild child = TRY(sys::GatedChild::spawn({.argv = {program, address},
                                                      .environment = sys::own_environment(),
                                                      .directory = {},
                                                      .standard_input = nothing.get(),
                                                      .standard_output = nothing.get(),
                                                      .standard_error = nothing.get()}));
  TRY(child.release());
  // Without a desktop's own helper it is the browser itself, and stays as long as that.
  const BootTime deadline = sys::boot_now() + std::chrono::seconds(3);
  int status = 0;
  while (::waitpid(child.pid(), &status, WNOHANG) == 0) {
    if (sys::boot_now() > deadline) return true;
    sys::system_clock().sleep_until(sys::boot_now() + Nanos(std::chrono::milliseconds(20)));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Returns the command that makes an address of this machine's loopback reachable from the user's
// own.
std::string tunnel(const std::string& address) {
  constexpr std::string_view kLoopback = "http://127.0.0.1:";
  if (sys::own_variable("SSH_CONNECTION").empty() || !address.starts_with(kLoopback)) return {};
  const std::string_view port = std::string_view(address).substr(kLoopback.size());
  const std::string_view number = port.substr(0, port.find('/'));
  return fmt::format("from your own machine first: ssh -N -L {0}:127.0.0.1:{0} {1}\n", number,
                     sys::host_name());
}

// The address by which the browser signs in with the command's token; the same without a token, and
// where the server is older.
std::string signing_in(const sys::HttpTarget& server, const std::string& address) {
  if (server.token.empty()) return address;
  const auto code =
      send_json(server, {.method = "POST", .path = "/api/corral/v1/codes", .body = "{}"});
  const bool root = address.find('/', address.find("://") + 3) == std::string::npos;
  return code ? fmt::format("{}{}?once={}", address, root ? "/" : "", code->get_string("code"))
              : address;
}

Result<int> open_page(const OpenFlags& flags) {
  const sys::HttpTarget server = TRY(connect(flags.destination));
  std::string address = TRY(page_address(flags.destination, server));
  if (address.empty())
    return fail(Code::kUnavailable, "the server of this store has no address for browsers");
  if (!flags.run.empty()) {
    const Json run = TRY(get_json(server, run_path(flags.run)));
    address += "/runs/" + TRY(RunId::parse(run.get_string("id"))).hex();
  }
  fmt::print("{}\n", address);
  std::fflush(stdout);
  if (flags.print) return kDone;
  const std::string program = opener();
  if (program.empty()) {
    fmt::print(stderr, "{}", tunnel(address));
  } else if (!TRY(open_address(program, signing_in(server, address)))) {
    fmt::print(stderr, "corral open: xdg-open could not open it\n");
    return kFailed;
  }
  return kDone;
}

}  // namespace

int open_command(std::span<char* const> args) {
  OpenFlags flags;
  Arguments arguments("open",
                      "Opens the page of a run, or the list of runs, in your browser, signed in by "
                      "your token of the server, and prints its address. Without a desktop it only "
                      "prints it.",
                      kOpenExamples);
  arguments.positional("run", flags.run, kRunHelp, false);
  arguments.flag("print", flags.print, "only print the address");
  arguments.as_flag_only("print");
  add_destination(arguments, flags.destination);
  if (const auto status = arguments.parse(args)) return *status;
  return finish("open", open_page(flags));
}

}  // namespace corral::cli
