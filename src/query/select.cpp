#include "query/select.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text.h"

namespace corral::query {
namespace {

constexpr std::size_t kLeastPrefix = 4;
constexpr std::int64_t kGreatestNewest = 10'000;
constexpr std::string_view kHowToList = "`corral ls runs` lists what is there";

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Result<RunId> select_newest(const store::Reader& store, std::string_view text) {
  const auto n = parse_int(text.substr(1));
  if (!n || *n < 1 || *n > kGreatestNewest) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: @ takes a number from 1 (the newest run) to {}", text, kGreatestNewest));
  }
  store::RunFilter filter;
  filter.limit = static_cast<std::size_t>(*n);
  const store::RunPage page = TRY(store.runs(filter));
  if (page.runs.size() < filter.limit) {
    return fail(Code::kNotFound, page.total == 0 ? fmt::format("{}: there are no runs yet", text)
                                                 : fmt::format("{}: there are only {} runs; {}",
                                                               text, page.total, kHowToList));
  }
  return page.runs.back().id;
}

Result<bool> has_name(const store::Reader& store, RunId id, std::string_view name) {
  const auto run = TRY(store.run(id));
  return run && run->name == name;
}

Error unknown(std::string_view text, bool begins_an_id) {
  const std::string hint =
      begins_an_id ? fmt::format(" (ids are found by {} digits or more)", kLeastPrefix) : "";
  return {.code = Code::kNotFound,
          .message = fmt::format("no run has the id or name {}{}; {}", text, hint, kHowToList)};
}

}  // namespace

Result<RunId> select_run(const store::Reader& store, std::string_view text) {
  if (text.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("a run needs an id, a name or @N; {}", kHowToList));
  if (text.front() == '@') return select_newest(store, text);
  const std::string prefix = lower(text);
  const bool hex = is_hex(prefix);
  std::vector<RunId> by_prefix;
  std::vector<RunId> by_name;
  for (const RunId id : TRY(store.find_runs(text))) {
    const bool starts = hex && id.hex().starts_with(prefix);
    if (starts) by_prefix.push_back(id);
    // A prefix of the run's id may be its name as well.
    const bool named = !starts || (by_name.empty() && TRY(has_name(store, id, text)));
    if (named) by_name.push_back(id);
  }
  const bool long_enough = text.size() >= kLeastPrefix;
  if (long_enough && by_prefix.size() == 1) return by_prefix.front();
  if (!by_name.empty()) return by_name.front();
  // Words such as "a" or "bad" begin some id by chance: foremost, they are names of nothing.
  if (by_prefix.empty() || !long_enough) return tl::unexpected(unknown(text, !by_prefix.empty()));
  return fail(
      Code::kInvalidArgument,
      fmt::format(
          "{} is the beginning of several runs' ids, {} and {} among them: give more digits", text,
          by_prefix[0].hex(), by_prefix[1].hex()));
}

}  // namespace corral::query
