// ArtifactStore: the place of the files that runs log. A directory (file/) or a bucket (s3/).
//
// Paths are relative to the store's root, segments joined by '/', and are checked here once more,
// although the caller has checked the client's path (mlflow/artifact_path.h). The empty path is the
// root. Bytes are streamed both ways: a reader or a writer holds at most one piece (256 KiB) in
// memory between two calls, whatever the file's size. A file exists complete or not at all: the
// bytes given to a Writer become visible with commit(), and are removed if the Writer is destroyed
// without it.
//
// The store is safe from any thread; a Reader or Writer belongs to one thread at a time and must
// not outlive its store. All of it blocks: call it on pool threads.
//
// Errors: kNotFound for a missing file, kInvalidArgument for paths, kNoSpace for a full disk,
// kUnavailable when the bucket cannot be reached (after retries), kPermission.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace corral::store::artifacts {

struct Entry {
  std::string name;  // without its parents
  bool is_dir = false;
  std::uint64_t size = 0;  // bytes; 0 for a directory
};

// Bytes [offset, offset + length) of a file; the part beyond its end is omitted.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = UINT64_MAX;
};

// Takes a piece of a file; false ends the reading (which is no error).
using Take = std::function<bool(std::string_view)>;

// One version of a file: replacing or removing the file meanwhile gives its old bytes or an error,
// never a mixture.
class Reader {
 public:
  virtual ~Reader() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Names this version as HTTP's ETag does, quoted; empty when the store says none.
  [[nodiscard]] virtual std::string etag() const = 0;
  virtual Result<> read(ByteRange range, const Take& take) = 0;
  // A good length, in bytes, for reading the file range by range. Each range costs one request in a
  // bucket, and nothing in a directory.
  [[nodiscard]] virtual std::size_t part_bytes() const { return 256u << 10; }
};

class Writer {
 public:
  virtual ~Writer() = default;  // nothing remains of what was not committed
  virtual Result<> append(std::string_view bytes) = 0;
  // Once: the file is durable and visible, in place of an older one. After an error of append() or
  // commit() the writer takes nothing more.
  virtual Result<> commit() = 0;
};

// An upload in parts that a client sends to the store itself, by URLs that are signed for it.
struct PartTarget {
  int number = 0;  // from 1
  std::string url;
};
struct MultipartUpload {
  std::string id;
  std::vector<PartTarget> parts;
};
struct UploadedPart {
  int number = 0;
  std::string etag;
};

inline constexpr std::size_t kPathBytes = 1000;  // S3 allows 1,024, including the prefix
inline constexpr std::size_t kNameBytes = 255;
inline constexpr std::size_t kMostEntries = 1'000'000;  // per directory: a list is held in memory
inline constexpr int kMostParts = 10'000;
// The text that clients of MLflow look for before they send the file as a whole.
inline constexpr std::string_view kNoMultipart =
    "Multipart upload is not supported for the current artifact repository";

class ArtifactStore {
 public:
  virtual ~ArtifactStore() = default;

  // "/srv/artifacts" (absolute), "s3://bucket/prefix".
  [[nodiscard]] virtual std::string location() const = 0;
  // Sorted by name; empty for what is no directory or not there.
  virtual Result<std::vector<Entry>> list(std::string_view path) = 0;
  // kNotFound for a directory.
  virtual Result<std::unique_ptr<Reader>> open(std::string_view path) = 0;
  // `size` when it is known ahead: a store without room refuses at once.
  virtual Result<std::unique_ptr<Writer>> create(std::string_view path,
                                                 std::optional<std::uint64_t> size) = 0;
  // Removes a file, or a directory with its contents; succeeds if it does not exist. Must not be
  // the root.
  virtual Result<> remove(std::string_view path) = 0;

  // kUnsupported with kNoMultipart unless the store can.
  virtual Result<MultipartUpload> create_multipart(std::string_view path, int parts);
  virtual Result<> complete_multipart(std::string_view path, std::string_view upload,
                                      std::span<const UploadedPart> parts);
  virtual Result<> abort_multipart(std::string_view path, std::string_view upload);
};

// kInvalidArgument unless the path is empty or segments of 1 to kNameBytes bytes, valid UTF-8
// without control characters, backslashes, "." and "..", kPathBytes together.
Result<> check_path(std::string_view path);
// The same, and it is not the root.
Result<> check_file_path(std::string_view path);

}  // namespace corral::store::artifacts
