#include "collocate/page_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include "collocate/group_files.h"
#include "core/text.h"

namespace corral::collocate {
namespace {

constexpr std::size_t kPiece = 4u << 20;

fs::path drop_file(const fs::path& root) { return root / "proc/sys/vm/drop_caches"; }

std::uint64_t available_bytes(const fs::path& root) {
  const std::string text = sys::read_file(root / "proc/meminfo").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with("MemAvailable:")) continue;
    const std::string_view number = trim(line.substr(13));
    const auto kib = parse_int(number.substr(0, number.find(' ')));
    return kib ? static_cast<std::uint64_t>(*kib) * 1024 : 0;
  }
  return 0;
}

class Reader {
 public:
  Reader(std::uint64_t most, const std::function<bool()>& cancelled)
      : most_(most), cancelled_(cancelled), buffer_(kPiece) {}

  // False: enough was read.
  bool read(const fs::path& file) {
    const auto fd = sys::open_file(file, O_RDONLY | O_NONBLOCK);
    if (!fd) return true;
    for (;;) {
      if (warmed_.bytes >= most_ || (cancelled_ && cancelled_())) {
        warmed_.whole = false;
        return false;
      }
      const ssize_t n = ::read(fd->get(), buffer_.data(), buffer_.size());
      if (n <= 0) return true;
      warmed_.bytes += static_cast<std::uint64_t>(n);
    }
  }
  [[nodiscard]] const Warmed& warmed() const { return warmed_; }

 private:
  std::uint64_t most_;
  const std::function<bool()>& cancelled_;
  std::vector<char> buffer_;
  Warmed warmed_;
};

bool read_all(const fs::path& path, Reader& reader) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return reader.read(path);
  const auto flags = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator it(path, flags, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored) && !reader.read(it->path())) return false;
  }
  return true;
}

}  // namespace

bool may_drop_page_cache(const fs::path& root) {
  return ::access(drop_file(root).c_str(), W_OK) == 0;
}

Result<> drop_page_cache(const fs::path& root) {
  ::sync();
  return write_control(drop_file(root), "3");
}

Warmed warm_page_cache(const std::vector<fs::path>& paths, const fs::path& root,
                       const std::function<bool()>& cancelled) {
  Reader reader(available_bytes(root) / 2, cancelled);
  for (const fs::path& path : paths) {
    if (!read_all(path, reader)) break;
  }
  return reader.warmed();
}

}  // namespace corral::collocate
