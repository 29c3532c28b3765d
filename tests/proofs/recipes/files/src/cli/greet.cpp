#include <fmt/core.h>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "core/json.h"
#include "core/text.h"

namespace corral::cli {
namespace {

Result<std::string> greeting(const DestinationFlags& destination) {
  const sys::HttpTarget server = TRY(connect(destination));
  sys::HttpClient client(server);
  const auto answer = TRY(client.send({.path = "/api/corral/v1/greeting", .body = {}}));
  const Json json = TRY(Json::parse(answer.body));
  return std::string(json.get_string("greeting"));
}

}  // namespace

int greet_command(std::span<char* const> args) {
  DestinationFlags destination;
  Arguments arguments("greet", "Prints the server's greeting.", "  corral greet\n");
  add_destination(arguments, destination);
  if (const auto status = arguments.parse(args)) return *status;
  const auto text = greeting(destination);
  if (!text) return report("greet", text.error());
  fmt::print("{}\n", printable(*text));
  return kDone;
}

}  // namespace corral::cli
