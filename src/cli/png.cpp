#include "cli/png.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "collect/vendor/library.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::cli {
namespace {

using collect::vendor::Function;
using collect::vendor::Library;

// The few declarations of librsvg, cairo, GLib and fontconfig that it takes; all are of their
// stable interfaces.
struct GError {
  std::uint32_t domain;
  int code;
  char* message;
};
struct RsvgRectangle {
  double x, y, width, height;
};
using PngWriter = int (*)(void* closure, const unsigned char* data, unsigned length);
constexpr int kArgb = 0;                       // CAIRO_FORMAT_ARGB32
constexpr int kWritten = 0, kNotWritten = 11;  // CAIRO_STATUS_SUCCESS, CAIRO_STATUS_WRITE_ERROR

// A library finds the symbols of those that it needs as well.
struct Renderer {
  explicit Renderer(const Library& all)
      : add_font(all, {"FcConfigAppFontAddFile"}),
        open(all, {"rsvg_handle_new_from_data"}),
        render(all, {"rsvg_handle_render_document"}),
        make_surface(all, {"cairo_image_surface_create"}),
        make_context(all, {"cairo_create"}),
        status(all, {"cairo_status"}),
        write(all, {"cairo_surface_write_to_png_stream"}),
        free_context(all, {"cairo_destroy"}),
        free_surface(all, {"cairo_surface_destroy"}),
        unref(all, {"g_object_unref"}) {}

  [[nodiscard]] bool whole() const {
    return add_font.there() && open.there() && render.there() && make_surface.there() &&
           make_context.there() && status.there() && write.there() && free_context.there() &&
           free_surface.there() && unref.there();
  }

  Function<int, 0, void*, const char*> add_font;
  Function<void*, nullptr, const std::uint8_t*, std::size_t, GError**> open;
  Function<int, 0, void*, void*, const RsvgRectangle*, GError**> render;
  Function<void*, nullptr, int, int, int> make_surface;
  Function<void*, nullptr, void*> make_context;
  Function<int, kNotWritten, void*> status;
  Function<int, kNotWritten, void*, PngWriter, void*> write;
  Function<int, 0, void*> free_context, free_surface, unref;  // they return nothing
};

// Frees what it holds by one of the library's functions.
class Owned {
 public:
  Owned(void* object, const Function<int, 0, void*>& release)
      : object_(object), release_(release) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (object_ != nullptr) release_(object_);
  }
  [[nodiscard]] void* get() const { return object_; }

 private:
  void* object_;
  const Function<int, 0, void*>& release_;
};

tl::unexpected<Error> failed(std::string_view what, const GError* error) {
  return fail(Code::kInternal,
              fmt::format("librsvg cannot {} the figure: {}", what,
                          error != nullptr ? error->message : "it does not say why"));
}

// fontconfig reads fonts from files: these have no name and go with the process.
Result<> add_font(const Renderer& renderer, std::string_view font) {
  sys::Fd file(::memfd_create("corral-font", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create", errno);
  TRY(sys::write_all(file.get(), font));
  const std::string path = fmt::format("/proc/self/fd/{}", file.release());
  if (renderer.add_font(nullptr, path.c_str()) == 0)
    return fail(Code::kInternal, "fontconfig does not take the figure's font");
  return {};
}

}  // namespace

Result<std::string> png_of(std::string_view svg, PngSize size,
                           const std::vector<std::string_view>& fonts) {
  const auto library = Library::open("", {"librsvg-2.so.2"});
  if (!library)
    return fail(Code::kUnsupported,
                "PNG needs librsvg: install Debian's package librsvg2-2, or write SVG or PDF");
  const Renderer renderer(*library);
  if (!renderer.whole())
    return fail(Code::kUnsupported,
                "PNG needs librsvg 2.46 or newer: update Debian's package librsvg2-2");
  for (const std::string_view font : fonts) TRY(add_font(renderer, font));
  GError* error = nullptr;
  const Owned document(
      renderer.open(reinterpret_cast<const std::uint8_t*>(svg.data()), svg.size(), &error),
      renderer.unref);
  if (document.get() == nullptr) return failed("read", error);
  const Owned surface(renderer.make_surface(kArgb, size.width, size.height), renderer.free_surface);
  const Owned context(renderer.make_context(surface.get()), renderer.free_context);
  if (renderer.status(context.get()) != kWritten)
    return fail(Code::kTooLarge, fmt::format("a picture of {} × {} pixels is too large for cairo",
                                             size.width, size.height));
  const RsvgRectangle all{0, 0, static_cast<double>(size.width), static_cast<double>(size.height)};
  if (renderer.render(document.get(), context.get(), &all, &error) == 0)
    return failed("draw", error);
  std::string png;
  const PngWriter take = [](void* to, const unsigned char* data, unsigned length) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), length);
    return kWritten;
  };
  if (renderer.write(surface.get(), take, &png) != kWritten)
    return fail(Code::kInternal, "cairo cannot write the PNG");
  return png;
}

}  // namespace corral::cli
