#include "server/api/saved_text.h"

#include <algorithm>

namespace corral::server::api {

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string read_state(RequestFields& fields) {
  std::string state = fields.text("state").value_or("");
  if (state.empty() || state.size() > kMostState || state.find('\0') != std::string::npos)
    fields.wrong("state", "a text of at most 256 KiB, without NUL");
  return state;
}

}  // namespace corral::server::api
