#include "store/artifacts/file/file_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/ids.h"
#include "core/sha256.h"
#include "store/artifacts/file/kept_once.h"
#include "store/artifacts/file/tree.h"
#include "sys/file.h"

namespace corral::store::artifacts {
namespace {

constexpr std::size_t kPieceBytes = 256u << 10;

class FileReader final : public Reader {
 public:
  FileReader(sys::Fd file, const struct stat& info)
      : file_(std::move(file)),
        size_(static_cast<std::uint64_t>(info.st_size)),
        etag_(fmt::format("\"{:x}-{:x}-{:x}.{:x}\"", info.st_ino, info.st_size, info.st_mtim.tv_sec,
                          info.st_mtim.tv_nsec)) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] std::string etag() const override { return etag_; }

  Result<> read(ByteRange range, const Take& take) override {
    const std::uint64_t begin = std::min(range.offset, size_);
    std::uint64_t left = std::min(range.length, size_ - begin);
    std::uint64_t at = begin;
    std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(left, kPieceBytes)), '\0');
    while (left > 0) {
      const std::size_t wanted = std::min<std::uint64_t>(left, piece.size());
      const ssize_t n = ::pread(file_.get(), piece.data(), wanted, static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail_errno("artifact", errno);
      if (n == 0) return fail(Code::kIo, "the artifact became shorter while it was read");
      if (!take({piece.data(), static_cast<std::size_t>(n)})) return {};
      at += static_cast<std::uint64_t>(n);
      left -= static_cast<std::uint64_t>(n);
    }
    return {};
  }

 private:
  sys::Fd file_;
  const std::uint64_t size_;
  const std::string etag_;
};

struct Temporary {
  sys::Fd file;  // locked
  std::string name;
};

Result<Temporary> make_temporary(int uploads) {
  for (;;) {
    Temporary made{.file = {}, .name = SessionId::random().hex()};
    made.file.reset(
        ::openat(uploads, made.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!made.file) return fail_errno("artifact", errno);
    if (::flock(made.file.get(), LOCK_EX | LOCK_NB) == 0) return made;
    // A process that opens the store now takes the unlocked file for a remainder and removes it:
    // try another.
  }
}

// Writing makes what it needs: only folders that were deleted meanwhile are not found. Another try,
// perhaps with the next store, may succeed.
template <class T>
Result<T> expect_folders(Result<T> done) {
  if (!done && done.error().code == Code::kNotFound)
    return fail(Code::kUnavailable, "the artifacts were deleted: " + done.error().message);
  return done;
}

class FileWriter final : public Writer {
 public:
  struct Target {
    int root;
    int uploads;
    std::string path;
    KeptOnce* once;  // null unless the content of the file is kept once
  };
  FileWriter(Target target, Temporary temporary)
      : target_(std::move(target)), temporary_(std::move(temporary)) {}
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  ~FileWriter() override { drop(); }

  Result<> append(std::string_view bytes) override {
    CORRAL_ASSERT(!temporary_.name.empty());
    Result<> done = sys::write_all(temporary_.file.get(), bytes);
    if (target_.once != nullptr) hash_.add(bytes);
    if (!done) drop();
    return done;
  }

  Result<> commit() override {
    CORRAL_ASSERT(!temporary_.name.empty());
    Result<> done = expect_folders(move_into_place());
    if (!done) drop();
    return done;
  }

 private:
  Result<> move_into_place() {
    if (::fsync(temporary_.file.get()) != 0) return fail_errno(target_.path, errno);
    const SplitPath parts = split_path(target_.path);
    const sys::Fd parent = TRY(make_parent(parts.parent));
    const std::string name(parts.name);
    if (rename_to(parent.get(), name) != 0) {
      if (errno == EISDIR || errno == ENOTEMPTY)
        return fail(Code::kInvalidArgument, fmt::format("'{}' is a directory", target_.path));
      return fail_errno(target_.path, errno);
    }
    temporary_.name.clear();
    if (::fsync(parent.get()) != 0) return fail_errno(target_.path, errno);
    return {};
  }

  int rename_to(int parent, const std::string& name) {
    if (target_.once == nullptr)
      return ::renameat(target_.uploads, temporary_.name.c_str(), parent, name.c_str());
    target_.once->share(target_.uploads, temporary_.name, hex(hash_.finish()));
    return target_.once->rename(target_.uploads, temporary_.name, parent, name);
  }

  Result<sys::Fd> make_parent(std::string_view parent) const {
    Result<sys::Fd> made = make_directories_below(target_.root, parent);
    if (!made && made.error().code == Code::kInvalidArgument)
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}' lies below a file: {}", target_.path, made.error().message));
    return made;
  }

  void drop() {
    if (!temporary_.name.empty()) ::unlinkat(target_.uploads, temporary_.name.c_str(), 0);
    temporary_ = {};
  }

  Target target_;
  Temporary temporary_;  // without a name: committed or dropped
  Sha256Stream hash_;    // used for files that are kept once
};

class FileStore final : public ArtifactStore {
 public:
  FileStore(std::string location, sys::Fd root, sys::Fd uploads)
      : location_(std::move(location)),
        root_(std::move(root)),
        uploads_(std::move(uploads)),
        once_(root_.get()) {
    if (uploads_) once_.sweep();
  }

  [[nodiscard]] std::string location() const override { return location_; }

  Result<std::vector<Entry>> list(std::string_view path) override {
    TRY(check(path));
    const Result<sys::Fd> directory = open_directory(root_.get(), path);
    if (!directory && directory.error().code == Code::kNotFound) return std::vector<Entry>();
    if (!directory) return tl::unexpected(directory.error());
    std::vector<Entry> entries = TRY(read_entries(directory->get()));
    if (path.empty()) std::erase_if(entries, [](const Entry& e) { return is_hidden(e.name); });
    return entries;
  }

  Result<std::unique_ptr<Reader>> open(std::string_view path) override {
    TRY(check_file(path));
    sys::Fd file = TRY(open_regular(root_.get(), path));
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return fail_errno(path, errno);
    return std::make_unique<FileReader>(std::move(file), info);
  }

  Result<std::unique_ptr<Writer>> create(std::string_view path,
                                         std::optional<std::uint64_t> size) override {
    TRY(check_writable());
    TRY(check_file(path));
    if (size) TRY(check_room(*size));
    Temporary temporary = TRY(expect_folders(make_temporary(uploads_.get())));
    return std::make_unique<FileWriter>(
        FileWriter::Target{.root = root_.get(),
                           .uploads = uploads_.get(),
                           .path = std::string(path),
                           .once = KeptOnce::covers(path) ? &once_ : nullptr},
        std::move(temporary));
  }

  Result<> remove(std::string_view path) override {
    TRY(check_writable());
    TRY(check_file(path));
    const SplitPath parts = split_path(path);
    const Result<sys::Fd> parent = open_directory(root_.get(), parts.parent);
    if (!parent && parent.error().code == Code::kNotFound) return {};
    if (!parent) return tl::unexpected(parent.error());
    return remove_tree(parent->get(), std::string(path),
                       [this](int directory, const std::string& below) {
                         const std::string name(split_path(below).name);
                         return KeptOnce::covers(below) ? once_.unlink(directory, name)
                                                        : ::unlinkat(directory, name.c_str(), 0);
                       });
  }

 private:
  static bool is_hidden(std::string_view name) { return name == kUploads || name == kContents; }
  static Result<> check(std::string_view path) {
    TRY(check_path(path));
    const std::string_view first = path.substr(0, path.find('/'));
    if (is_hidden(first))
      return fail(Code::kInvalidArgument, fmt::format("'{}' is a reserved name", first));
    return {};
  }
  static Result<> check_file(std::string_view path) {
    TRY(check_file_path(path));
    return check(path);
  }
  [[nodiscard]] Result<> check_writable() const {
    if (uploads_) return {};
    return fail(Code::kPermission, location_ + " is only read");
  }
  [[nodiscard]] Result<> check_room(std::uint64_t size) const {
    struct statvfs info {};
    if (::fstatvfs(root_.get(), &info) != 0) return fail_errno(location_, errno);
    if (size / info.f_frsize < info.f_bavail) return {};
    return fail(Code::kNoSpace,
                fmt::format("{} bytes do not fit on the disk of {}", size, location_));
  }

  const std::string location_;
  const sys::Fd root_;
  const sys::Fd uploads_;  // none: the files are only read
  KeptOnce once_;
};

// Removes files that uploads of dead processes have left.
void remove_left_overs(int uploads) {
  const Result<std::vector<Entry>> entries = read_entries(uploads);
  if (!entries) return;
  for (const Entry& entry : *entries) {
    const sys::Fd file(::openat(uploads, entry.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0)
      ::unlinkat(uploads, entry.name.c_str(), 0);
  }
}

}  // namespace

Result<std::unique_ptr<ArtifactStore>> open_file_store(const std::filesystem::path& root) {
  if (root.empty()) return fail(Code::kInvalidArgument, "the directory of artifacts has no name");
  TRY(sys::make_directories(root, 0700));
  sys::Fd directory = TRY(sys::open_file(root, O_RDONLY | O_DIRECTORY));
  sys::Fd uploads = TRY(make_directories_below(directory.get(), kUploads));
  remove_left_overs(uploads.get());
  return std::make_unique<FileStore>(std::filesystem::absolute(root).lexically_normal().string(),
                                     std::move(directory), std::move(uploads));
}

Result<std::unique_ptr<ArtifactStore>> open_file_source(const std::filesystem::path& root) {
  sys::Fd directory = TRY(sys::open_file(root, O_RDONLY | O_DIRECTORY));
  return std::make_unique<FileStore>(std::filesystem::absolute(root).lexically_normal().string(),
                                     std::move(directory), sys::Fd());
}

}  // namespace corral::store::artifacts
