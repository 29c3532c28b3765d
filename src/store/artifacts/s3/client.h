// S3's protocol: requests to one bucket, signed URLs for others, and the XML of both.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "core/time.h"
#include "store/artifacts/artifact_store.h"
#include "store/artifacts/s3/settings.h"

namespace corral::store::artifacts {

// ---- a URL that lets its holder make one kind of request for a limited time (AWS Signature
// Version 4 in the query). Pure; requests of the server itself are signed by libcurl.
struct Presigned {
  std::string_view method;                                   // "PUT"
  std::string_view key;                                      // not encoded
  std::vector<std::pair<std::string, std::string>> query{};  // not encoded
  UtcTime now;
  std::chrono::seconds valid{3600};
};
std::string presigned_url(const S3Settings& settings, const Presigned& what);

// ---- XML: the answers, and the one document that is sent. Pure.
// The answer to ListObjectsV2: whole keys, whole common prefixes (with their last slash).
struct KeyPage {
  struct Key {
    std::string key;
    std::uint64_t size = 0;
  };
  std::vector<Key> keys;
  std::vector<std::string> prefixes;
  std::string next;  // continuation token; empty on the last page
};
// kIo for what is no such answer.
Result<KeyPage> parse_key_page(std::string_view xml);

// The upload id of CreateMultipartUpload.
Result<std::string> parse_upload_id(std::string_view xml);

std::string completion_xml(std::span<const UploadedPart> parts);

// ---- requests
struct S3Request {
  std::string_view method = "GET";                           // GET, HEAD, PUT, POST, DELETE
  std::string key{};                                         // not encoded; empty: the bucket
  std::vector<std::pair<std::string, std::string>> query{};  // not encoded, sorted by name
  std::vector<std::string> headers{};                        // "Name: value"
  std::string_view body{};
  // Takes a successful answer's body; if empty, it goes into S3Answer::body.
  const Take* take = nullptr;
};
struct S3Answer {
  std::string body;
  std::string etag;
  std::uint64_t content_length = 0;
};

// Sends requests, signed (CURLOPT_AWS_SIGV4), over connections that are kept. Any thread; each
// request takes a connection of its own.
class S3Client {
 public:
  explicit S3Client(S3Settings settings);
  S3Client(const S3Client&) = delete;
  S3Client& operator=(const S3Client&) = delete;
  ~S3Client();

  [[nodiscard]] const S3Settings& settings() const { return settings_; }
  // Tries again when S3 cannot be reached or answers 5xx or 429, with a pause that doubles, and
  // turns S3's error into an Error. kUnavailable also when the connection broke while the answer
  // came; what `take` has got by then stays with it, and such a request is not tried again here.
  Result<S3Answer> send(const S3Request& request);
  // Waits before try number `n` (from 2).
  void pause_before(int n) const;

 private:
  struct Connection;
  struct Outcome;
  Outcome perform(Connection& connection, const S3Request& request) const;
  std::unique_ptr<Connection> borrow_connection();
  void give_back(std::unique_ptr<Connection> connection);

  // Constant after construction.
  const S3Settings settings_;

  Mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<Connection>> idle_ GUARDED_BY(mutex_);
};

}  // namespace corral::store::artifacts
