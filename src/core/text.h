// Small text functions that several layers need.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral {

// The whole text as a decimal integer, or nothing.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);
// "2%", "2 %" or "0.02" as 0.02. Without a sign 1 and more are nothing: some would mean percent.
std::optional<double> parse_share(std::string_view text);
// "64MiB", "2GiB", "512k", "1000": bytes (k, M, G, T are powers of 1024), or nothing.
std::optional<std::int64_t> parse_bytes(std::string_view text);
// "1.5 GiB"
std::string human_bytes(double bytes);

// Valid UTF-8 with every invalid byte replaced by U+FFFD.
std::string to_utf8(std::string_view bytes);
bool is_utf8(std::string_view bytes);
// Bytes at the end that begin a character and do not finish it: 0 to 3.
std::size_t incomplete_utf8_tail(std::string_view bytes);
// Returns the number of bytes from the front that are valid UTF-8.
std::size_t utf8_prefix(std::string_view bytes);
// For a terminal: what could move the cursor, change its state, break the line or turn the order of
// the characters is written as \n, \x1b or \u202e, as are invalid bytes.
std::string printable(std::string_view text);
// The same for text of several lines: line feeds stay.
std::string printable_lines(std::string_view text);
// One character at the front of a text.
struct Glyph {
  std::size_t bytes = 1;
  // On a terminal: 1, 2, or 0 if it is drawn over the character before it.
  std::size_t columns = 1;
  bool known = true;  // false: invalid UTF-8, or no width is known for it
};
// `text` is not empty.
Glyph first_glyph(std::string_view text);
// The columns of a printable text on a terminal.
std::size_t display_width(std::string_view text);

// Appends a quoted JSON string; invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// For text and quoted attributes of XML and HTML.
std::string escaped_xml(std::string_view text);

// Shell-style pattern over a whole name: * any text, ? one character, [a-z] a set; case-sensitive.
// Linear in time.
bool glob_match(std::string_view pattern, std::string_view name);

// A to Z become a to z; every other byte stays.
std::string lower_ascii(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// "1 run", "3 runs".
std::string counted(std::integral auto count, std::string_view thing) {
  return std::to_string(count) + ' ' + std::string(thing) + (count == 1 ? "" : "s");
}

// Smallest number of single-character edits from a to b.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The name that takes the fewest edits; empty when it takes more than `most`.
std::string nearest_name(std::string_view word, const std::vector<std::string_view>& known,
                         std::size_t most = 2);
// "; did you mean 'NAME'?" for that one; empty when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace corral
