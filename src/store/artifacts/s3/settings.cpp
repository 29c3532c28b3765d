#include "store/artifacts/s3/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/text.h"
#include "store/artifacts/artifact_store.h"
#include "sys/file.h"

namespace corral::store::artifacts {
namespace {

constexpr std::string_view kScheme = "s3://";
constexpr std::string_view kDefaultRegion = "us-east-1";

std::string first_set(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = environment(name); !value.empty()) return value;
  }
  return {};
}

// "key = value" lines of one section of an INI file; nothing when there is no such file.
using Section = std::map<std::string, std::string, std::less<>>;

Section read_section(const std::string& file, std::string_view name) {
  Section section;
  const Result<std::string> content = sys::read_file(file, 1u << 20);
  if (!content) return section;
  bool inside = false;
  for (const std::string_view raw : split(*content, '\n')) {
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      inside = line.back() == ']' && trim(line.substr(1, line.size() - 2)) == name;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    section.insert_or_assign(std::string(trim(line.substr(0, equals))),
                             std::string(trim(line.substr(equals + 1))));
  }
  return section;
}

struct Profile {
  Section credentials;
  Section config;

  [[nodiscard]] std::string value(std::string_view key) const {
    for (const Section* section : {&credentials, &config}) {
      if (const auto found = section->find(key); found != section->end()) return found->second;
    }
    return {};
  }
};

Profile read_profile(const Environment& environment) {
  const std::string chosen = first_set(environment, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  const std::string name = chosen.empty() ? "default" : chosen;
  const std::string home = environment("HOME") + "/.aws/";
  std::string credentials = environment("AWS_SHARED_CREDENTIALS_FILE");
  if (credentials.empty()) credentials = home + "credentials";
  std::string config = environment("AWS_CONFIG_FILE");
  if (config.empty()) config = home + "config";
  return {.credentials = read_section(credentials, name),
          .config = read_section(config, name == "default" ? name : "profile " + name)};
}

Result<S3Keys> find_keys(const Environment& environment, const Profile& profile) {
  S3Keys keys{.access = environment("AWS_ACCESS_KEY_ID"),
              .secret = environment("AWS_SECRET_ACCESS_KEY"),
              .session = environment("AWS_SESSION_TOKEN")};
  if (keys.access.empty() || keys.secret.empty()) {
    keys = {.access = profile.value("aws_access_key_id"),
            .secret = profile.value("aws_secret_access_key"),
            .session = profile.value("aws_session_token")};
  }
  if (!keys.access.empty() && !keys.secret.empty()) return keys;
  return fail(Code::kUnauthenticated,
              "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write a "
              "profile in ~/.aws/credentials");
}

bool is_bucket_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, allowed) &&
         name.find("..") == std::string_view::npos;
}

std::string base_url(const S3Settings& settings, std::string endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.empty()) return fmt::format("{}/{}", endpoint, settings.bucket);
  // A certificate of *.s3.REGION covers no bucket with a dot in its name.
  if (settings.bucket.find('.') != std::string::npos)
    return fmt::format("https://s3.{}.amazonaws.com/{}", settings.region, settings.bucket);
  return fmt::format("https://{}.s3.{}.amazonaws.com", settings.bucket, settings.region);
}

}  // namespace

Result<S3Settings> s3_settings(std::string_view location, const Environment& environment) {
  if (!location.starts_with(kScheme))
    return fail(Code::kInvalidArgument, fmt::format("'{}' is not an s3:// location", location));
  const std::string_view rest = location.substr(kScheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  S3Settings settings;
  settings.bucket = rest.substr(0, slash);
  std::string_view prefix = rest.substr(std::min(slash + 1, rest.size()));
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  TRY(check_path(prefix));
  settings.prefix = prefix;
  if (!is_bucket_name(settings.bucket))
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is not a valid bucket name", settings.bucket));
  const Profile profile = read_profile(environment);
  settings.keys = TRY(find_keys(environment, profile));
  settings.region = first_set(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (settings.region.empty()) settings.region = profile.value("region");
  if (settings.region.empty()) settings.region = kDefaultRegion;
  std::string endpoint =
      first_set(environment, {"MLFLOW_S3_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (!endpoint.empty() && !endpoint.starts_with("http://") && !endpoint.starts_with("https://"))
    return fail(Code::kInvalidArgument,
                fmt::format("S3's endpoint '{}' must start with http:// or https://", endpoint));
  settings.base_url = base_url(settings, std::move(endpoint));
  return settings;
}

Result<S3Settings> s3_settings(std::string_view location) {
  return s3_settings(location, [](const char* name) -> std::string {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets any
    return value == nullptr ? "" : value;
  });
}

}  // namespace corral::store::artifacts
