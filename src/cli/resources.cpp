#include "cli/resources.h"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "cli/command.h"
#include "core/text.h"

namespace corral::cli {

std::string below(std::string_view path, const std::string& name) {
  return fmt::format("{}/{}", path, sys::url_encode(name));
}

std::string body_of(Json::Object members) {
  std::erase_if(members, [](const auto& member) {
    const std::string* text = member.second.as_string();
    return member.second.is_null() || (text != nullptr && text->empty());
  });
  return Json(std::move(members)).dump();
}

Result<Json> ask(const DestinationFlags& destination, const sys::HttpRequest& request) {
  const sys::HttpTarget server = TRY(connect(destination));
  return send_json(server, request);
}

Result<int> print_list(const DestinationFlags& destination, const Listing& listing,
                       const std::string& format) {
  const Json answer = TRY(ask(destination, {.path = std::string(listing.path), .body = {}}));
  const Table table = list_of(items(answer, std::string(listing.member).c_str()), listing.fields);
  if (table.empty() && format == "table") {
    fmt::print("{}\n", listing.none);
  } else {
    fmt::print("{}", table.print(format, takes_colours(STDOUT_FILENO)));
  }
  return kDone;
}

Cell words_cell(const Json& object, const char* name) {
  std::string text;
  for (const Json& word : items(object, name))
    text += (text.empty() ? "" : ", ") + printable(word.as_string() ? *word.as_string() : "");
  return {text, text};
}

void own_text(Arguments& arguments, const std::string& name, std::string& value,
              const std::string& help) {
  arguments.text(name, value, help);
  arguments.as_flag_only(name);
}

void own_texts(Arguments& arguments, const std::string& name, std::vector<std::string>& values,
               const std::string& help) {
  arguments.texts(name, values, help);
  arguments.as_flag_only(name);
}

}  // namespace corral::cli
