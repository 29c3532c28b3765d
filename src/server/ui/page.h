// The web page: files of web/dist, embedded in the binary by tools/embed.py, each as it is and
// gzipped.
//
// Names under /assets that carry a hash of their content are cached for ever; browsers revalidate
// all other files by their ETag. A path of the single-page application ("/", "/runs/...", "/board",
// ...) answers index.html. Without web/dist the answer explains how to build it.
#pragma once

#include <span>
#include <string_view>

#include "server/core/context.h"
#include "server/core/http_types.h"

namespace corral::server::ui {

struct Asset {
  std::string_view path;  // "assets/index-8f3a.js"
  std::string_view mime;
  std::string_view etag;  // quoted
  std::string_view raw;
  std::string_view gzip;  // empty when it saves nothing
};

// The embedded files, by path; generated.
std::span<const Asset> embedded_assets();

Response page(const Request& request, Context& context);   // index.html
Response asset(const Request& request, Context& context);  // a file below /assets, or 404
Response root(const Request& request, Context& context);   // a file, index.html for "/", or 404

// The answer for one file; with its ETag, compressed when the client takes it.
Response serve_asset(const Asset& file, const Request& request);

}  // namespace corral::server::ui
