#include "store/artifacts/s3/s3_store.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "store/artifacts/s3/client.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace corral::store::artifacts {
namespace {

// Parts that an upload of known size is cut into at most, of S3's 10,000.
constexpr std::uint64_t kPlannedParts = 9'000;

class S3Reader final : public Reader {
 public:
  struct Version {
    std::string key;
    std::string etag;
    std::uint64_t size = 0;
  };
  S3Reader(S3Client& client, Version version) : client_(client), version_(std::move(version)) {}
  [[nodiscard]] std::uint64_t size() const override { return version_.size; }
  [[nodiscard]] std::string etag() const override { return version_.etag; }

  [[nodiscard]] std::size_t part_bytes() const override { return 1u << 20; }
  Result<> read(ByteRange range, const Take& take) override {
    std::uint64_t at = std::min(range.offset, version_.size);
    const std::uint64_t end = at + std::min(range.length, version_.size - at);
    bool stopped = false;
    const Take forward = [&](std::string_view piece) {
      piece = piece.substr(0, std::min<std::uint64_t>(piece.size(), end - at));
      at += piece.size();
      stopped = !take(piece);
      return !stopped;
    };
    int fruitless = 0;
    while (at < end && !stopped) {
      const std::uint64_t before = at;
      Result<> done = read_part(at, end, forward);
      if (at == before && !stopped) ++fruitless;
      if (at > before) fruitless = 0;
      const bool broken = !done && done.error().code == Code::kUnavailable;
      if (!done && (!broken || fruitless > 0)) return done;
      if (fruitless > 0) return fail(Code::kIo, "S3 answered a range with nothing");
    }
    return {};
  }

 private:
  Result<> read_part(std::uint64_t begin, std::uint64_t end, const Take& take) {
    S3Request request{.key = version_.key, .take = &take};
    request.headers.push_back(fmt::format("Range: bytes={}-{}", begin, end - 1));
    if (!version_.etag.empty()) request.headers.push_back("If-Match: " + version_.etag);
    TRY(client_.send(request));
    return {};
  }

  S3Client& client_;
  Version version_;
};

// The part of an upload that fills. Many slow clients may upload at once, so that most of it waits
// in a file.
class FillingPart {
 public:
  explicit FillingPart(const S3Settings& settings) : settings_(settings) {}
  [[nodiscard]] std::size_t size() const { return in_file_ + held_.size(); }

  Result<> append(std::string_view bytes) {
    held_.append(bytes);
    if (held_.size() <= settings_.held_bytes) return {};
    if (!file_)
      file_ = sys::Fd(
          ::open(settings_.scratch.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file_) return {};  // then it waits in memory
    TRY(sys::write_all(file_.get(), held_));
    in_file_ += held_.size();
    held_ = {};
    return {};
  }

  // All of it; afterwards it is empty.
  Result<std::string> take() {
    std::string whole(in_file_, '\0');
    for (std::size_t at = 0; at < in_file_;) {
      const ssize_t n =
          ::pread(file_.get(), whole.data() + at, in_file_ - at, static_cast<off_t>(at));
      if (n <= 0) return fail(Code::kIo, "a part of an upload cannot be read");
      at += static_cast<std::size_t>(n);
    }
    whole += std::exchange(held_, {});
    in_file_ = 0;
    file_.reset();
    return whole;
  }

 private:
  const S3Settings& settings_;
  std::string held_;
  sys::Fd file_;
  std::size_t in_file_ = 0;
};

class S3Writer final : public Writer {
 public:
  S3Writer(S3Client& client, std::string key, std::size_t part_bytes)
      : client_(client),
        key_(std::move(key)),
        part_bytes_(part_bytes),
        pending_(client.settings()) {}
  S3Writer(const S3Writer&) = delete;
  S3Writer& operator=(const S3Writer&) = delete;
  ~S3Writer() override { drop(); }

  Result<> append(std::string_view bytes) override {
    CORRAL_ASSERT(!ended_);
    while (!bytes.empty()) {
      if (pending_.size() == part_bytes_) {
        if (Result<> sent = send_part(); !sent) {
          drop();
          return sent;
        }
      }
      const std::size_t n = std::min(bytes.size(), part_bytes_ - pending_.size());
      if (Result<> kept = pending_.append(bytes.substr(0, n)); !kept) {
        drop();
        return kept;
      }
      bytes.remove_prefix(n);
    }
    return {};
  }

  Result<> commit() override {
    CORRAL_ASSERT(!ended_);
    Result<> done = upload_.empty() ? put_whole() : complete();
    if (!done) drop();
    ended_ = true;
    return done;
  }

 private:
  Result<> put_whole() {
    const std::string body = TRY(pending_.take());
    TRY(client_.send({.method = "PUT", .key = key_, .body = body}));
    return {};
  }

  Result<> send_part() {
    if (upload_.empty()) {
      const S3Answer started =
          TRY(client_.send({.method = "POST", .key = key_, .query = {{"uploads", ""}}}));
      upload_ = TRY(parse_upload_id(started.body));
    }
    const int number = static_cast<int>(parts_.size()) + 1;
    if (number > kMostParts)
      return fail(Code::kTooLarge,
                  fmt::format("'{}' is longer than {} parts of {} bytes: send it with its length",
                              key_, kMostParts, part_bytes_));
    const std::string body = TRY(pending_.take());
    S3Answer sent =
        TRY(client_.send({.method = "PUT",
                          .key = key_,
                          .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload_}},
                          .body = body}));
    parts_.push_back({.number = number, .etag = std::move(sent.etag)});
    return {};
  }

  Result<> complete() {
    if (pending_.size() > 0) TRY(send_part());
    const std::string xml = completion_xml(parts_);
    TRY(client_.send(
        {.method = "POST", .key = key_, .query = {{"uploadId", upload_}}, .body = xml}));
    upload_.clear();
    return {};
  }

  void drop() {
    ended_ = true;
    if (upload_.empty()) return;
    // Without an answer the parts stay until the bucket's own rule removes them.
    [[maybe_unused]] const auto gone = client_.send(
        {.method = "DELETE", .key = key_, .query = {{"uploadId", std::exchange(upload_, {})}}});
  }

  S3Client& client_;
  const std::string key_;
  const std::size_t part_bytes_;
  FillingPart pending_;
  std::string upload_;  // empty: none has begun, or it has ended
  std::vector<UploadedPart> parts_;
  bool ended_ = false;
};

class S3Store final : public ArtifactStore {
 public:
  explicit S3Store(S3Settings settings) : client_(std::move(settings)) {}

  [[nodiscard]] std::string location() const override {
    const S3Settings& s = client_.settings();
    return fmt::format("s3://{}{}{}", s.bucket, s.prefix.empty() ? "" : "/", s.prefix);
  }

  Result<std::vector<Entry>> list(std::string_view path) override {
    TRY(check_path(path));
    const std::string below = directory_key(path);
    std::vector<Entry> entries;
    TRY(for_each_page(below, "/", [&](const KeyPage& page) -> Result<> {
      for (const auto& [key, size] : page.keys) {
        if (key.size() > below.size())
          entries.push_back({.name = key.substr(below.size()), .is_dir = false, .size = size});
      }
      for (const std::string& prefix : page.prefixes) {
        if (prefix.size() <= below.size() + 1) continue;
        entries.push_back({.name = prefix.substr(below.size(), prefix.size() - below.size() - 1),
                           .is_dir = true});
      }
      if (entries.size() <= kMostEntries) return {};
      return fail(Code::kTooLarge,
                  fmt::format("a directory of more than {} entries", kMostEntries));
    }));
    std::ranges::sort(entries, {}, &Entry::name);
    return entries;
  }

  Result<std::unique_ptr<Reader>> open(std::string_view path) override {
    TRY(check_file_path(path));
    std::string key = object_key(path);
    S3Answer head = TRY(client_.send({.method = "HEAD", .key = key}));
    return std::make_unique<S3Reader>(client_, S3Reader::Version{.key = std::move(key),
                                                                 .etag = std::move(head.etag),
                                                                 .size = head.content_length});
  }

  Result<std::unique_ptr<Writer>> create(std::string_view path,
                                         std::optional<std::uint64_t> size) override {
    TRY(check_file_path(path));
    return std::make_unique<S3Writer>(client_, object_key(path), part_bytes(size));
  }

  Result<> remove(std::string_view path) override {
    TRY(check_file_path(path));
    TRY(remove_key(object_key(path)));
    return for_each_page(directory_key(path), "", [&](const KeyPage& page) -> Result<> {
      for (const KeyPage::Key& object : page.keys) TRY(remove_key(object.key));
      return {};
    });
  }

  Result<MultipartUpload> create_multipart(std::string_view path, int parts) override {
    TRY(check_file_path(path));
    if (parts < 1 || parts > kMostParts)
      return fail(Code::kInvalidArgument, fmt::format("an upload has 1 to {} parts", kMostParts));
    const std::string key = object_key(path);
    const S3Answer started =
        TRY(client_.send({.method = "POST", .key = key, .query = {{"uploads", ""}}}));
    MultipartUpload upload{.id = TRY(parse_upload_id(started.body)), .parts = {}};
    const UtcTime now = sys::utc_now();
    for (int number = 1; number <= parts; ++number) {
      upload.parts.push_back(
          {.number = number,
           .url = presigned_url(
               client_.settings(),
               {.method = "PUT",
                .key = key,
                .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload.id}},
                .now = now})});
    }
    return upload;
  }

  Result<> complete_multipart(std::string_view path, std::string_view upload,
                              std::span<const UploadedPart> parts) override {
    TRY(check_file_path(path));
    std::vector<UploadedPart> sorted(parts.begin(), parts.end());
    std::ranges::sort(sorted, {}, &UploadedPart::number);
    const std::string xml = completion_xml(sorted);
    TRY(client_.send({.method = "POST",
                      .key = object_key(path),
                      .query = {{"uploadId", std::string(upload)}},
                      .body = xml}));
    return {};
  }

  Result<> abort_multipart(std::string_view path, std::string_view upload) override {
    TRY(check_file_path(path));
    TRY(client_.send({.method = "DELETE",
                      .key = object_key(path),
                      .query = {{"uploadId", std::string(upload)}}}));
    return {};
  }

 private:
  [[nodiscard]] std::string object_key(std::string_view path) const {
    const std::string& prefix = client_.settings().prefix;
    if (prefix.empty() || path.empty()) return prefix + std::string(path);
    return fmt::format("{}/{}", prefix, path);
  }
  // The prefix of every key below the directory.
  [[nodiscard]] std::string directory_key(std::string_view path) const {
    const std::string key = object_key(path);
    return key.empty() ? "" : key + "/";
  }
  [[nodiscard]] std::size_t part_bytes(std::optional<std::uint64_t> size) const {
    const std::size_t least = client_.settings().part_bytes;
    if (!size) return 2 * least;
    return std::max<std::size_t>(least, *size / kPlannedParts + 1);
  }

  Result<> for_each_page(const std::string& prefix, std::string_view delimiter,
                         const std::function<Result<>(const KeyPage&)>& visit) {
    std::string next;
    do {
      S3Request request;
      if (!next.empty()) request.query.emplace_back("continuation-token", next);
      if (!delimiter.empty()) request.query.emplace_back("delimiter", delimiter);
      request.query.emplace_back("list-type", "2");
      request.query.emplace_back("prefix", prefix);
      const S3Answer answer = TRY(client_.send(request));
      KeyPage page = TRY(parse_key_page(answer.body));
      next = std::move(page.next);
      TRY(visit(page));
    } while (!next.empty());
    return {};
  }

  Result<> remove_key(const std::string& key) {
    const Result<S3Answer> removed = client_.send({.method = "DELETE", .key = key});
    if (removed || removed.error().code == Code::kNotFound) return {};
    return tl::unexpected(removed.error());
  }

  S3Client client_;
};

}  // namespace

std::unique_ptr<ArtifactStore> open_s3_store(S3Settings settings) {
  return std::make_unique<S3Store>(std::move(settings));
}

}  // namespace corral::store::artifacts
