#include "server/ui/page.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"

namespace corral::server::ui {
namespace {

constexpr std::string_view kContentSecurityPolicy =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'self'; "
    "frame-ancestors 'none'";
constexpr std::string_view kHowToBuild =
    "Corral's server runs, but this binary was built without its page.\n"
    "Build the page with './dev build', or with 'npm ci && npm run build' in web/ and then the "
    "binary again.\n"
    "The API is at /api/corral/v1/openapi.json.\n";

const Asset* find_asset(std::string_view path) {
  const auto found = std::ranges::find(embedded_assets(), path, &Asset::path);
  return found != embedded_assets().end() ? &*found : nullptr;
}

// "assets/index-3j9Jl5Ux.js": the bundler put a hash of 8 characters before the extension.
bool has_hashed_name(std::string_view path) {
  constexpr std::size_t kHashBytes = 8;
  const std::string_view stem = path.substr(0, path.rfind('.'));
  return path.starts_with("assets/") && stem.size() > kHashBytes &&
         stem[stem.size() - kHashBytes - 1] == '-';
}

Response not_found(const Request& request) {
  return error_response({Code::kNotFound, fmt::format("no route {}", to_utf8(request.path))});
}

}  // namespace

Response serve_asset(const Asset& file, const Request& request) {
  Response response;
  response.headers = {{"Content-Type", std::string(file.mime)},
                      {"ETag", std::string(file.etag)},
                      {"Vary", "Accept-Encoding"},
                      {"Content-Security-Policy", std::string(kContentSecurityPolicy)}};
  response.set_header("Cache-Control", has_hashed_name(file.path)
                                           ? "public, max-age=31536000, immutable"
                                           : "no-cache");
  if (request.header("if-none-match") == file.etag) {
    response.status = 304;
    return response;
  }
  const bool compressed = !file.gzip.empty() && takes_gzip(request);
  if (compressed) response.set_header("Content-Encoding", "gzip");
  response.static_body = compressed ? file.gzip : file.raw;
  return response;
}

Response page(const Request& request, Context&) {
  const Asset* index = find_asset("index.html");
  if (index != nullptr) return serve_asset(*index, request);
  Response response = text_response(std::string(kHowToBuild));
  response.set_header("Content-Security-Policy", kContentSecurityPolicy);
  return response;
}

Response asset(const Request& request, Context&) {
  const Asset* file = find_asset("assets/" + std::string(request.param("path")));
  return file != nullptr ? serve_asset(*file, request) : not_found(request);
}

Response root(const Request& request, Context& context) {
  const std::string_view path = request.param("path");
  if (path.empty()) return page(request, context);
  const Asset* file = find_asset(path);
  return file != nullptr ? serve_asset(*file, request) : not_found(request);
}

}  // namespace corral::server::ui
