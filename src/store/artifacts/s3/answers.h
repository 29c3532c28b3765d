// S3's XML: the answers, and the one document that is sent. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/artifacts/artifact_store.h"

namespace corral::store::artifacts {

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

// "NoSuchKey: The specified key does not exist."; empty when the text is no <Error>.
struct S3Error {
  std::string code;
  std::string message;
};
S3Error parse_s3_error(std::string_view xml);

std::string completion_xml(std::span<const UploadedPart> parts);

}  // namespace corral::store::artifacts
