// The settings of a bucket: endpoint, region, credentials.
//
// Taken once from the environment, as AWS's own tools and MLflow name it:
//   endpoint     MLFLOW_S3_ENDPOINT_URL, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; else AWS itself
//   credentials  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; else the profile of
//                AWS_PROFILE ("default") in AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) or
//                AWS_CONFIG_FILE (~/.aws/config)
//   region       AWS_REGION, AWS_DEFAULT_REGION, the profile's; else us-east-1
// Roles of instances and of web identities are not asked for.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/time.h"

namespace corral::store::artifacts {

struct S3Keys {
  std::string access;
  std::string secret;
  std::string session;  // empty: none
};

struct S3Settings {
  std::string bucket;
  std::string prefix;  // without slashes at its ends; may be empty
  // The URL below which the bucket's keys are, no slash at the end:
  // "https://bucket.s3.eu-west-1.amazonaws.com", "http://127.0.0.1:9000/bucket".
  std::string base_url;
  std::string region;
  S3Keys keys;

  std::size_t part_bytes = 8u << 20;    // minimum for an upload of known size; else twice that
  std::size_t held_bytes = 128u << 10;  // bytes of an incomplete part kept in memory; the rest
  std::string scratch = "/var/tmp";     // waits in a nameless file in this directory
  int tries = 4;
  Nanos first_pause = std::chrono::milliseconds(200);  // before the second try; doubles
};

// A variable's value, empty when it is not set.
using Environment = std::function<std::string(const char* name)>;

// kInvalidArgument for a location that is not s3://bucket[/prefix], kUnauthenticated without keys.
Result<S3Settings> s3_settings(std::string_view location, const Environment& environment);
Result<S3Settings> s3_settings(std::string_view location);

}  // namespace corral::store::artifacts
