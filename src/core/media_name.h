// File names of a run's media (docs/media.md): media/NAME@STEP.ENDING, or media/NAME.ENDING without
// a step. The ending is that of the file's format, and tells the kind. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corral {

enum class MediaKind : std::uint8_t { kImage, kAudio, kVideo, kText, kTable, kHistogram };

// "image", "audio", "video", "text", "table", "histogram".
std::string_view media_kind_name(MediaKind kind);

inline constexpr std::string_view kMediaFolder = "media";
// The longest name in a file name, with three bytes for each reserved character.
inline constexpr std::size_t kMediaNameBytes = 200;

struct MediaName {
  std::string name;
  MediaKind kind = MediaKind::kImage;
  std::optional<std::int64_t> step;
};

// The kind of a file by its ending, in any case: "a.png", "b.table.json". Nothing: it is no medium.
std::optional<MediaKind> media_kind_of(std::string_view file);
// Reads a file name in kMediaFolder.
std::optional<MediaName> parse_media_name(std::string_view file);
// The path of an artifact; `ending` without its dot. Nothing: the name is empty, too long or not
// UTF-8.
std::optional<std::string> media_path(std::string_view name, std::optional<std::int64_t> step,
                                      std::string_view ending);

}  // namespace corral
