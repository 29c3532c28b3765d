#include "cli/thumbnail.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "cli/command.h"
#include "collect/vendor/library.h"
#include "core/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

using collect::vendor::Function;
using collect::vendor::Library;

constexpr const char* kInput = "/proc/self/fd/0";
constexpr std::int64_t kMostPixels = 64 << 20;
constexpr std::size_t kMostThumbnailBytes = 16u << 20;
constexpr auto kLongest = std::chrono::seconds(10);

// The few declarations of gdk-pixbuf that it takes; all are of its stable interface.
struct Decoder {
  explicit Decoder(const Library& library)
      : size_of(library, {"gdk_pixbuf_get_file_info"}),
        read(library, {"gdk_pixbuf_new_from_file_at_size"}),
        turn(library, {"gdk_pixbuf_apply_embedded_orientation"}),
        write(library, {"gdk_pixbuf_save_to_bufferv"}) {}

  [[nodiscard]] bool whole() const {
    return size_of.there() && read.there() && turn.there() && write.there();
  }

  Function<void*, nullptr, const char*, int*, int*> size_of;
  Function<void*, nullptr, const char*, int, int, void**> read;
  Function<void*, nullptr, void*> turn;
  Function<int, 0, void*, char**, std::size_t*, const char*, const char**, const char**, void**>
      write;
};

// No other format reaches its decoder: those of gdk-pixbuf's plugins are many and little tried.
const char* format_of_input() {
  std::array<char, 4> head{};
  if (::pread(STDIN_FILENO, head.data(), head.size(), 0) != ssize_t{head.size()}) return nullptr;
  const std::string_view magic(head.data(), head.size());
  if (magic == "\x89PNG") return "png";
  return magic.starts_with("\xff\xd8\xff") ? "jpeg" : nullptr;
}

// Nothing of the file may cost more than this, or leave this process.
void confine() {
  const auto limit = [](auto resource, rlim_t most) {
    const rlimit both{.rlim_cur = most, .rlim_max = most};
    ::setrlimit(resource, &both);
  };
#ifndef __SANITIZE_ADDRESS__  // the sanitizer maps terabytes
  limit(RLIMIT_AS, rlim_t{1} << 30);
#endif
  limit(RLIMIT_CPU, kLongest.count());
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int make_thumbnail(int width) {
  const char* const format = format_of_input();
  if (format == nullptr) return kDone;
  const auto library = Library::open("", {"libgdk_pixbuf-2.0.so.0"});
  if (!library) return kFailed;
  const Decoder decoder(*library);
  if (!decoder.whole()) return kFailed;
  int own_width = 0;
  int own_height = 0;
  if (decoder.size_of(kInput, &own_width, &own_height) == nullptr) return kFailed;
  if (std::int64_t{own_width} * own_height > kMostPixels) return kFailed;
  if (own_width <= width) return kDone;
  void* const image = decoder.read(kInput, width, -1, nullptr);
  if (image == nullptr) return kFailed;
  void* const upright = decoder.turn(image);
  std::array<const char*, 2> keys{};
  std::array<const char*, 2> values{};
  if (std::string_view(format) == "jpeg") {
    keys[0] = "quality";
    values[0] = "85";
  }
  char* bytes = nullptr;
  std::size_t size = 0;
  if (decoder.write(upright != nullptr ? upright : image, &bytes, &size, format, keys.data(),
                    values.data(), nullptr) == 0)
    return kFailed;
  return sys::write_all(STDOUT_FILENO, {bytes, size}) ? kDone : kFailed;
}

}  // namespace

std::string thumbnail_of(const sys::Fd& image, int width) {
  std::string made;
  const auto take = [&made](std::string_view piece) {
    made += piece;
    return made.size() <= kMostThumbnailBytes;
  };
  int status = kFailed;
  const auto ended =
      sys::capture_output({.argv = {"/proc/self/exe", "thumbnail", std::to_string(width)},
                           .directory = {},
                           .limit = kLongest,
                           .idle = false,
                           .standard_input = image.get(),
                           .take = take},
                          &status);
  return ended && status == kDone ? made : "";
}

int thumbnail_command(std::span<char* const> args) {
  const auto width = args.size() == 1 ? parse_int(args[0]) : std::nullopt;
  if (!width || *width < 1 || *width > 4096) {
    fmt::print(stderr, "corral thumbnail: expected a width from 1 to 4096 pixels\n");
    return kMisuse;
  }
  confine();
  return make_thumbnail(static_cast<int>(*width));
}

}  // namespace corral::cli
