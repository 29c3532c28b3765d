#include "run/schedule/plan_part.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "run/schedule/plan_journal.h"

namespace corral::run::schedule {
namespace {

constexpr std::size_t kFileBytes = 16u << 20;
constexpr const char* kPart = "part.json";
constexpr const char* kId = "id";
constexpr const char* kStatus = "status";
constexpr const char* kSettled = "settled";

Json to_json(const Part& part) {
  Json json = Json::Object{{"plan", part.plan},
                           {"workload", part.workload},
                           {"repetition", part.repetition},
                           {"rows", Json::Array(part.keys.begin(), part.keys.end())}};
  if (part.until) json.set("until_ns", ns_of(*part.until));
  return json;
}

}  // namespace

Result<PartFolder> PartFolder::open(const std::filesystem::path& directory) {
  return PartFolder(TRY(sys::PrivateDirectory::open(directory)));
}

Result<PartFolder> PartFolder::make(const sys::PrivateDirectory& jobs, const std::string& number,
                                    const Part& part) {
  PartFolder folder(TRY(jobs.make_directory(number)));
  TRY(folder.files_.replace_file(kPart, to_json(part).dump() + "\n", true));
  return folder;
}

Result<Part> PartFolder::part() const {
  const std::string text = TRY(files_.read_file(kPart, kFileBytes));
  const Json json = TRY(Json::parse(text));
  Part part{.plan = json.get_string("plan"),
            .workload = json.get_string("workload"),
            .repetition = static_cast<int>(json.get_int("repetition", 1)),
            .keys = {}};
  const Json* rows = json.find("rows");
  if (rows != nullptr && rows->as_array() != nullptr) {
    for (const Json& key : *rows->as_array())
      if (key.as_string() != nullptr) part.keys.push_back(*key.as_string());
  }
  if (json.find("until_ns") != nullptr) part.until = utc_time(json.get_int("until_ns"));
  if (part.plan.empty() || part.workload.empty() || part.keys.empty())
    return fail(Code::kCorruption, (path() / kPart).string() + " names no workload");
  return part;
}

Result<> PartFolder::write_script(std::string_view text) const {
  return files_.replace_file("script", text, true);
}

std::string PartFolder::id() const {
  const auto text = files_.read_file(kId, 256);
  return text ? std::string(trim(*text)) : std::string();
}

Result<> PartFolder::note_id(std::string_view id) const {
  return files_.replace_file(kId, fmt::format("{}\n", id), true);
}

bool PartFolder::begun() const { return files_.exists("journal") || files_.exists(kStatus); }

Result<Book> PartFolder::book() const { return PlanJournal::read(path()); }

std::optional<int> PartFolder::status() const {
  const auto text = files_.read_file(kStatus, 256);
  const auto status = text ? parse_int(trim(*text)) : std::nullopt;
  return status ? std::optional(static_cast<int>(*status)) : std::nullopt;
}

Result<> PartFolder::note_status(int status) const {
  return files_.replace_file(kStatus, fmt::format("{}\n", status), true);
}

bool PartFolder::is_settled() const { return files_.exists(kSettled); }

Result<> PartFolder::settle() const { return files_.replace_file(kSettled, "", true); }

std::filesystem::path parts_of(const std::filesystem::path& state) { return state / "jobs"; }

bool has_open_parts(const std::filesystem::path& state) {
  const auto folder = sys::PrivateDirectory::open(parts_of(state));
  if (!folder) return false;
  return std::ranges::any_of(folder->list(), [&](const std::string& number) {
    const auto part = PartFolder::open(folder->path() / number);
    return part && !part->is_settled();
  });
}

}  // namespace corral::run::schedule
