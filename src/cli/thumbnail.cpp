#include "cli/thumbnail.h"

#include <fmt/core.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "collect/vendor/library.h"
#include "core/text.h"
#include "sys/file.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

using collect::vendor::Function;
using collect::vendor::Library;

constexpr int kMostPixels = 64 << 20;
constexpr std::size_t kMostImageBytes = 64u << 20;
constexpr std::size_t kMostThumbnailBytes = 16u << 20;
constexpr auto kLongest = std::chrono::seconds(10);

// The few declarations of gdk-pixbuf that it takes; all are of its stable interface. A library
// finds the symbols of those that it needs as well.
struct Decoder {
  explicit Decoder(const Library& library)
      : open(library, {"gdk_pixbuf_loader_new_with_type"}),
        connect(library, {"g_signal_connect_data"}),
        feed(library, {"gdk_pixbuf_loader_write"}),
        close(library, {"gdk_pixbuf_loader_close"}),
        image(library, {"gdk_pixbuf_loader_get_pixbuf"}),
        turn(library, {"gdk_pixbuf_apply_embedded_orientation"}),
        option(library, {"gdk_pixbuf_get_option"}),
        width(library, {"gdk_pixbuf_get_width"}),
        height(library, {"gdk_pixbuf_get_height"}),
        scale(library, {"gdk_pixbuf_scale_simple"}),
        write(library, {"gdk_pixbuf_save_to_bufferv"}) {}

  [[nodiscard]] bool whole() const {
    return open.there() && connect.there() && feed.there() && close.there() && image.there() &&
           turn.there() && option.there() && width.there() && height.there() && scale.there() &&
           write.there();
  }

  using Sized = void (*)(void* loader, int width, int height, void*);
  Function<void*, nullptr, const char*, void**> open;
  Function<unsigned long, 0, void*, const char*, Sized, void*, void*, int> connect;
  Function<int, 0, void*, const std::uint8_t*, std::size_t, void**> feed;
  Function<int, 0, void*, void**> close;
  Function<void*, nullptr, void*> image, turn;
  Function<const char*, nullptr, void*, const char*> option;
  Function<int, 0, void*> width, height;
  Function<void*, nullptr, void*, int, int, int> scale;
  Function<int, 0, void*, char**, std::size_t*, const char*, const char**, const char**, void**>
      write;
};
constexpr int kBilinear = 2;  // GDK_INTERP_BILINEAR

// Its time and memory, from the start on, and no descriptors but those of input and output.
void limit_costs() {
  const auto limit = [](auto resource, rlim_t most) {
    const rlimit both{.rlim_cur = most, .rlim_max = most};
    ::setrlimit(resource, &both);
  };
  limit(RLIMIT_AS, rlim_t{1} << 30);
  limit(RLIMIT_CPU, kLongest.count());
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  ::alarm(kLongest.count());
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
  for (int fd = 3; fd < 8192; ++fd) ::close(fd);
}

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#endif

// From now on it can compute, read what is open, and write its output. False: this kernel cannot.
bool confine() {
  constexpr std::array kAllowed = {
      SYS_read,      SYS_write,         SYS_close,  SYS_fstat,          SYS_lseek,
      SYS_brk,       SYS_mmap,          SYS_munmap, SYS_mremap,         SYS_madvise,
      SYS_mprotect,  SYS_futex,         SYS_exit,   SYS_exit_group,     SYS_rt_sigreturn,
      SYS_getrandom, SYS_clock_gettime, SYS_tgkill, SYS_rt_sigprocmask, SYS_gettid,
      SYS_getpid};
  const auto load = [](std::uint32_t at) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at);
  };
  const auto answer = [](std::uint32_t how) { return sock_filter BPF_STMT(BPF_RET | BPF_K, how); };
  std::vector<sock_filter> filter = {
      load(offsetof(seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0),
      answer(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
  for (const long call : kAllowed) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    filter.push_back(answer(SECCOMP_RET_ALLOW));
  }
  filter.push_back(answer(SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                           .filter = filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Null for what is neither, and for a PNG that moves: a thumbnail would stand still.
const char* format_of(std::string_view image) {
  if (image.starts_with("\x89PNG"))
    return image.substr(0, image.find("IDAT")).find("acTL") == std::string_view::npos ? "png"
                                                                                      : nullptr;
  return image.starts_with("\xff\xd8\xff") ? "jpeg" : nullptr;
}

// With the profile of its colours. gdk-pixbuf fails to write some of PNG's: then there is none.
int write_thumbnail(const Decoder& decoder, void* image, const char* format, const char* profile) {
  std::vector<const char*> keys;
  std::vector<const char*> values;
  const auto add = [&](const char* key, const char* value) {
    keys.push_back(key);
    values.push_back(value);
  };
  if (profile != nullptr) add("icc-profile", profile);
  if (std::string_view(format) == "jpeg") add("quality", "85");
  add(nullptr, nullptr);
  char* bytes = nullptr;
  std::size_t size = 0;
  if (decoder.write(image, &bytes, &size, format, keys.data(), values.data(), nullptr) == 0)
    return kFailed;
  return sys::write_all(STDOUT_FILENO, {bytes, size}) ? kDone : kFailed;
}

int make_thumbnail(int wanted) {
  const auto input = sys::read_all(sys::Fd(::dup(STDIN_FILENO)), "the image", kMostImageBytes);
  const char* const format = input ? format_of(*input) : nullptr;
  if (format == nullptr) return kDone;
  const auto library = Library::open("", {"libgdk_pixbuf-2.0.so.0"});
  if (!library) return kFailed;
  const Decoder decoder(*library);
  void* const loader = decoder.whole() ? decoder.open(format, nullptr) : nullptr;
  if (loader == nullptr || !confine()) return kFailed;
  const auto check = [](void*, int width, int height, void*) {
    if (width > kMostPixels / std::max(height, 1)) ::_exit(kFailed);
  };
  decoder.connect(loader, "size-prepared", check, nullptr, nullptr, 0);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(input->data());
  const bool fed = decoder.feed(loader, bytes, input->size(), nullptr) != 0;
  if (decoder.close(loader, nullptr) == 0 || !fed) return kFailed;
  void* const image = decoder.image(loader);
  void* const upright = image != nullptr ? decoder.turn(image) : nullptr;
  if (upright == nullptr) return kFailed;
  const int width = decoder.width(upright);
  if (width <= wanted) return kDone;
  const double height = static_cast<double>(decoder.height(upright)) * wanted / width;
  void* const small =
      decoder.scale(upright, wanted, std::max(1, static_cast<int>(std::lround(height))), kBilinear);
  if (small == nullptr) return kFailed;
  return write_thumbnail(decoder, small, format, decoder.option(image, "icc-profile"));
}

}  // namespace

std::string thumbnail_of(const sys::Fd& image, int width, const std::function<bool()>& left) {
  std::string made;
  const auto take = [&made](std::string_view piece) {
    made += piece;
    return made.size() <= kMostThumbnailBytes;
  };
  // It learns where the libraries are, and nothing else that this process knows.
  std::vector<std::string> environment;
  for (const char* name : {"LD_LIBRARY_PATH", "GDK_PIXBUF_MODULE_FILE"})
    if (const std::string value = sys::own_variable(name); !value.empty())
      environment.push_back(fmt::format("{}={}", name, value));
  int status = kFailed;
  const auto ended =
      sys::capture_output({.argv = {"/proc/self/exe", "thumbnail", std::to_string(width)},
                           .directory = "/",
                           .limit = kLongest,
                           .idle = false,
                           .standard_input = image.get(),
                           .environment = std::move(environment),
                           .take = take,
                           .left = left},
                          &status);
  return ended && status == kDone ? made : "";
}

int thumbnail_command(std::span<char* const> args) {
  const auto width = args.size() == 1 ? parse_int(args[0]) : std::nullopt;
  if (!width || *width < 1 || *width > 4096) {
    fmt::print(stderr, "corral thumbnail: expected a width from 1 to 4096 pixels\n");
    return kMisuse;
  }
  limit_costs();
  return make_thumbnail(static_cast<int>(*width));
}

}  // namespace corral::cli
