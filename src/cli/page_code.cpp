#include "cli/page_code.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/sha256.h"
#include "server/ui/page.h"

namespace corral::cli {
namespace {

const server::ui::Asset* asset_named(std::string_view stem) {
  const auto assets = server::ui::embedded_assets();
  const auto found = std::ranges::find_if(assets, [&](const server::ui::Asset& asset) {
    return asset.path.starts_with("assets/") && asset.path.substr(7).starts_with(stem);
  });
  return found != assets.end() ? &*found : nullptr;
}

}  // namespace

Result<std::string_view> page_file(std::string_view stem) {
  if (const auto* asset = asset_named(stem); asset != nullptr) return asset->raw;
  return fail(Code::kUnsupported,
              fmt::format("this corral was built without its page, whose code draws the figures "
                          "('{}' is missing); build it with CORRAL_WEB=ON and web/dist",
                          stem));
}

Result<script::Script> load_page_code(
    std::function<Result<std::string>(const Json& request)> answer) {
  const auto ask = [answer = std::move(answer)](std::string_view text) -> Result<std::string> {
    const Json request = TRY(Json::parse(text));
    if (request.find("file") == nullptr) return answer(request);
    return std::string(TRY(page_file(request.get_string("file"))));
  };
  const auto hash = [](std::string_view bytes) -> Result<std::string> {
    const Sha256 digest = sha256(bytes);
    return std::string(digest.begin(), digest.end());
  };
  const std::string_view source = TRY(page_file(kPageFile));
  return script::Script::load(source, {.bytes = std::size_t{1} << 30, .time = kLongestPlot},
                              {{"corralHost", ask}, {"corralSha256", hash}});
}

}  // namespace corral::cli
