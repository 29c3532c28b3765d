// Things that a server keeps and commands list, add and remove: users, teams, alerts...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/answers.h"
#include "cli/arguments.h"
#include "cli/destination.h"
#include "core/json.h"
#include "core/result.h"
#include "sys/http_client.h"

namespace corral::cli {

// The path of one of them.
std::string below(std::string_view path, const std::string& name);
// The members that are not null and no empty text.
std::string body_of(Json::Object members);
// The server's answer, started if it is this machine's.
Result<Json> ask(const DestinationFlags& destination, const sys::HttpRequest& request);

// Prints the objects of a list, or the sentence if there are none.
struct Listing {
  std::string_view path, member;
  std::vector<Field> fields;
  std::string_view none;
};
Result<int> print_list(const DestinationFlags& destination, const Listing& listing,
                       const std::string& format);
// The cell of a list of texts.
Cell words_cell(const Json& object, const char* name);

// An option of a verb that neither the environment nor a file may give.
void own_text(Arguments& arguments, const std::string& name, std::string& value,
              const std::string& help);
void own_texts(Arguments& arguments, const std::string& name, std::vector<std::string>& values,
               const std::string& help);

}  // namespace corral::cli
