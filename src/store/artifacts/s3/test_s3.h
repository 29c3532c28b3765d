// For tests: enough of S3 to store, list, range and upload in parts, in memory and over HTTP, that
// fails when told to. It does not check signatures; the server of tests/e2e/test_artifacts.py does.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/guarded.h"
#include "core/text.h"
#include "http/server.h"
#include "store/artifacts/s3/settings.h"
#include "sys/socket.h"

namespace corral::store::artifacts {

class FakeS3 {
 public:
  struct Content {
    std::map<std::string, std::string> objects;
    std::map<std::string, std::map<int, std::string>> uploads;  // by id
    std::vector<std::string> requests;                          // "PUT key?query"
    std::vector<std::string> authorizations;
    // Taken one by one by the requests whose text starts so: status to answer instead.
    std::deque<std::pair<std::string, int>> faults;
    std::size_t page = 1000;
    std::size_t longest_body = 0;
  };

  FakeS3() {
    sys::Fd socket = sys::listen_tcp({.host = "127.0.0.1", .port = 0}).value();
    port_ = sys::bound_port(socket).value();
    std::vector<http::Listener> listeners;
    listeners.push_back({std::move(socket), false});
    http::HttpHandlers handlers;
    handlers.handle = [this](const http::Request& request) {
      return content.with([&](Content& c) { return answer(c, request); });
    };
    server_ = http::HttpServer::start(std::move(listeners), {}, std::move(handlers)).value();
  }

  [[nodiscard]] S3Settings settings() const {
    S3Settings settings;
    settings.bucket = "bucket";
    settings.prefix = "some/prefix";
    settings.base_url = "http://127.0.0.1:" + std::to_string(port_) + "/bucket";
    settings.region = "us-east-1";
    settings.keys = {.access = "AK", .secret = "secret", .session = ""};
    settings.part_bytes = 1000;
    settings.first_pause = std::chrono::milliseconds(1);
    return settings;
  }
  void stop() { server_.reset(); }

  Guarded<Content> content;

 private:
  static http::Response reply(int status, std::string body = "") {
    return http::text_response(std::move(body), status);
  }
  static http::Response s3_error(int status, const std::string& code) {
    return reply(status, "<?xml version=\"1.0\"?><Error><Code>" + code +
                             "</Code><Message>said the test</Message></Error>");
  }

  static http::Response answer(Content& c, const http::Request& request) {
    const std::string path = http::percent_decode(request.path).value();
    const std::string key = path.substr(std::min(path.size(), std::string("/bucket/").size()));
    std::string text = std::string(http::method_name(request.method)) + " " + key;
    for (const auto& [name, value] : request.query)
      text += (text.find('?') == std::string::npos ? "?" : "&") + name + "=" + value;
    c.requests.push_back(text);
    c.authorizations.emplace_back(request.header("authorization"));
    c.longest_body = std::max(c.longest_body, request.body.size());
    if (!c.faults.empty() && text.starts_with(c.faults.front().first)) {
      const int status = c.faults.front().second;
      c.faults.pop_front();
      if (status == 200) return s3_error(200, "InternalError");
      return s3_error(status, status == 403 ? "AccessDenied" : "SlowDown");
    }
    switch (request.method) {
      case http::Method::kGet:
        return request.query_value("list-type") ? list(c, request) : get(c, key, request);
      case http::Method::kHead:
        return get(c, key, request);
      case http::Method::kPut:
        return put(c, key, request);
      case http::Method::kPost:
        return post(c, key, request);
      default:
        if (const auto id = request.query_value("uploadId"))
          c.uploads.erase(std::string(*id));
        else
          c.objects.erase(key);
        return reply(204);
    }
  }

  static http::Response get(Content& c, const std::string& key, const http::Request& request) {
    const auto found = c.objects.find(key);
    if (found == c.objects.end()) return s3_error(404, "NoSuchKey");
    const std::string etag = "\"" + std::to_string(std::hash<std::string>()(found->second)) + "\"";
    const std::string_view match = request.header("if-match");
    if (!match.empty() && match != etag) return s3_error(412, "PreconditionFailed");
    std::string body = found->second;
    const std::string_view range = request.header("range");
    if (!range.empty()) {
      const auto ends = split(range.substr(6), '-');
      const auto begin = static_cast<std::size_t>(*parse_int(ends[0]));
      body = body.substr(begin, static_cast<std::size_t>(*parse_int(ends[1])) - begin + 1);
    }
    http::Response response = reply(range.empty() ? 200 : 206, std::move(body));
    response.set_header("ETag", etag);
    return response;
  }

  static http::Response put(Content& c, const std::string& key, const http::Request& request) {
    if (const auto id = request.query_value("uploadId")) {
      const auto found = c.uploads.find(std::string(*id));
      if (found == c.uploads.end()) return s3_error(404, "NoSuchUpload");
      const auto number = parse_int(*request.query_value("partNumber"));
      found->second[static_cast<int>(*number)] = request.body;
    } else {
      c.objects[key] = request.body;
    }
    http::Response response = reply(200);
    response.set_header("ETag", "\"e" + std::to_string(request.body.size()) + "\"");
    return response;
  }

  static http::Response post(Content& c, const std::string& key, const http::Request& request) {
    if (request.query_value("uploads")) {
      const std::string id = "up/" + std::to_string(c.requests.size()) + "+=";
      c.uploads[id];
      return reply(200, "<InitiateMultipartUploadResult><UploadId>" + id +
                            "</UploadId></InitiateMultipartUploadResult>");
    }
    const auto found = c.uploads.find(std::string(*request.query_value("uploadId")));
    if (found == c.uploads.end()) return s3_error(404, "NoSuchUpload");
    std::string whole;
    for (const auto& [number, part] : found->second) whole += part;
    c.objects[key] = std::move(whole);
    c.uploads.erase(found);
    return reply(200, "<CompleteMultipartUploadResult/>");
  }

  static http::Response list(Content& c, const http::Request& request) {
    const std::string prefix(*request.query_value("prefix"));
    const bool flat = !request.query_value("delimiter");
    const std::string after(request.query_value("continuation-token").value_or(""));
    std::string xml = "<?xml version=\"1.0\"?><ListBucketResult>";
    std::string last_prefix;
    std::string last;
    std::size_t n = 0;
    bool more = false;
    for (const auto& [key, body] : c.objects) {
      if (!key.starts_with(prefix) || (!after.empty() && key <= after)) continue;
      const std::size_t slash = flat ? std::string::npos : key.find('/', prefix.size());
      const std::string group = slash == std::string::npos ? "" : key.substr(0, slash + 1);
      if (!group.empty() && (group == last_prefix || after.starts_with(group))) {
        last = key;
        continue;
      }
      if (n == c.page) {
        more = true;
        break;
      }
      ++n;
      last = key;
      last_prefix = group;
      if (group.empty())
        xml += "<Contents><Key>" + key + "</Key><Size>" + std::to_string(body.size()) +
               "</Size></Contents>";
      else
        xml += "<CommonPrefixes><Prefix>" + group + "</Prefix></CommonPrefixes>";
    }
    if (more)
      xml += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + last +
             "</NextContinuationToken>";
    return reply(200, xml + "</ListBucketResult>");
  }

  std::uint16_t port_ = 0;
  std::unique_ptr<http::HttpServer> server_;
};

}  // namespace corral::store::artifacts
