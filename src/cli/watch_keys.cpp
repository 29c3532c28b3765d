#include "cli/watch_keys.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace corral::cli {
namespace {

constexpr std::string_view kEscape = "\x1b";

constexpr auto kKeys = std::to_array<std::pair<std::string_view, WatchKey>>({
    {"q", WatchKey::kQuit},         {"\x03", WatchKey::kQuit},  // Ctrl-C
    {kEscape, WatchKey::kBack},     {"\x7f", WatchKey::kBack},
    {"\r", WatchKey::kOpen},        {"\n", WatchKey::kOpen},
    {"k", WatchKey::kUp},           {"\x1b[A", WatchKey::kUp},
    {"j", WatchKey::kDown},         {"\x1b[B", WatchKey::kDown},
    {"\x1b[5~", WatchKey::kPageUp}, {"\x1b[6~", WatchKey::kPageDown},
    {" ", WatchKey::kPageDown},     {"g", WatchKey::kHome},
    {"\x1b[H", WatchKey::kHome},    {"\x1b[1~", WatchKey::kHome},
    {"G", WatchKey::kEnd},          {"\x1b[F", WatchKey::kEnd},
    {"\x1b[4~", WatchKey::kEnd},    {"\x1a", WatchKey::kSuspend},  // Ctrl-Z
    {"\x0c", WatchKey::kRedraw},                                   // Ctrl-L
});

// Returns the length of the character or sequence at the front; 0: its end is missing.
std::size_t sequence_bytes(std::string_view typed) {
  if (!typed.starts_with(kEscape)) return 1;
  const std::size_t begin = typed.starts_with("\x1b\x1b") ? 2 : 1;  // with Alt, or Escape twice
  if (typed.size() <= begin) return 0;
  const char next = typed[begin];
  if (next != '[' && next != 'O') {
    const bool with_alt = begin == 1 && static_cast<unsigned char>(next) >= ' ';
    return with_alt ? 2 : 1;  // else Escape, then another key
  }
  for (std::size_t i = begin + 1; i < typed.size(); ++i)
    if (typed[i] >= '@' && typed[i] <= '~') return i + 1;
  return 0;
}

std::optional<WatchKey> find_key(std::string sequence) {
  // Cursor keys have two forms.
  if (sequence.starts_with("\x1bO")) sequence[1] = '[';
  for (const auto& [bytes, key] : kKeys)
    if (bytes == sequence) return key;
  return std::nullopt;
}

}  // namespace

std::vector<WatchKey> take_keys(std::string& typed, bool complete) {
  std::vector<WatchKey> keys;
  while (!typed.empty()) {
    std::size_t bytes = sequence_bytes(typed);
    if (bytes == 0 && !complete) break;
    if (bytes == 0) bytes = typed == "\x1b\x1b" ? 1 : typed.size();
    if (const auto key = find_key(typed.substr(0, bytes))) keys.push_back(*key);
    typed.erase(0, bytes);
  }
  return keys;
}

}  // namespace corral::cli
