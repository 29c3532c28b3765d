#include "server/api/epoch_request.h"

#include "analyze/epochs.h"
#include "core/limits.h"

namespace corral::server::api {
namespace {

constexpr std::size_t kMostRuns = 1000;

}  // namespace

Parsed<EpochsQuestion> parse_epochs_request(std::string_view text) {
  const Parsed<Json> json = parse_body(text);
  if (!json) return tl::unexpected(json.error());
  RequestFields fields(text, *json);
  fields.only({"runs", "skip"});
  EpochsQuestion question{.runs = fields.texts("runs", kMostRuns, limits::kNameBytes)};
  if (fields.has("skip"))
    question.skip = static_cast<std::size_t>(
        fields.count("skip", 0, static_cast<std::int64_t>(analyze::kMostEpochs)));
  if (fields.error()) return tl::unexpected(*fields.error());
  return question;
}

}  // namespace corral::server::api
