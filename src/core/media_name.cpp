#include "core/media_name.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/text.h"

namespace corral {
namespace {

struct Ending {
  std::string_view ending;
  MediaKind kind;
};
constexpr std::array kEndings = {
    Ending{".png", MediaKind::kImage},        Ending{".jpg", MediaKind::kImage},
    Ending{".jpeg", MediaKind::kImage},       Ending{".gif", MediaKind::kImage},
    Ending{".webp", MediaKind::kImage},       Ending{".bmp", MediaKind::kImage},
    Ending{".avif", MediaKind::kImage},       Ending{".svg", MediaKind::kImage},
    Ending{".wav", MediaKind::kAudio},        Ending{".mp3", MediaKind::kAudio},
    Ending{".ogg", MediaKind::kAudio},        Ending{".flac", MediaKind::kAudio},
    Ending{".m4a", MediaKind::kAudio},        Ending{".mp4", MediaKind::kVideo},
    Ending{".webm", MediaKind::kVideo},       Ending{".txt", MediaKind::kText},
    Ending{".table.json", MediaKind::kTable}, Ending{".histogram.json", MediaKind::kHistogram}};

const Ending* find_ending(std::string_view file) {
  const std::string lower = lower_ascii(file);
  const auto* const found = std::ranges::find_if(
      kEndings, [&](const Ending& one) { return lower.ends_with(one.ending); });
  return found == kEndings.end() ? nullptr : found;
}

// Characters that paths, addresses or file systems reserve, and '=' and '@', which mark here.
bool is_reserved(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ||
         std::string_view(R"(/\#%=@:*?"<>|)").find(c) != std::string_view::npos;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Escapes that nobody wrote stay as they are.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '=' && text.size() - i > 2;
    const int high = escape ? hex_digit(text[i + 1]) : -1;
    const int low = escape ? hex_digit(text[i + 2]) : -1;
    const bool digits = high >= 0 && low >= 0;
    const char c = digits ? static_cast<char>((high << 4) + low) : text[i];
    const bool meant = digits && is_reserved(c);
    out += meant ? c : text[i];
    if (meant) i += 2;
  }
  return out;
}

}  // namespace

std::string_view media_kind_name(MediaKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"image", "audio", "video",
                                                      "text",  "table", "histogram"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<MediaKind> media_kind_of(std::string_view file) {
  const Ending* const ending = find_ending(file);
  return ending == nullptr ? std::nullopt : std::optional(ending->kind);
}

std::optional<MediaName> parse_media_name(std::string_view file) {
  const Ending* const ending = find_ending(file);
  if (ending == nullptr) return std::nullopt;
  std::string_view stem = file.substr(0, file.size() - ending->ending.size());
  MediaName media{.name = {}, .kind = ending->kind, .step = {}};
  if (const std::size_t at = stem.rfind('@'); at != std::string_view::npos) {
    media.step = parse_int(stem.substr(at + 1));
    if (media.step) stem = stem.substr(0, at);
  }
  if (stem.empty()) return std::nullopt;
  media.name = unescaped(stem);
  return media;
}

std::optional<std::string> media_path(std::string_view name, std::optional<std::int64_t> step,
                                      std::string_view ending) {
  if (!is_utf8(name)) return std::nullopt;
  std::string stem;
  for (const char c : name)
    stem +=
        is_reserved(c) ? fmt::format("={:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  if (stem.empty() || stem.size() > kMediaNameBytes) return std::nullopt;
  return step ? fmt::format("{}/{}@{}.{}", kMediaFolder, stem, *step, ending)
              : fmt::format("{}/{}.{}", kMediaFolder, stem, ending);
}

}  // namespace corral
