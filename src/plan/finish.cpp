#include "plan/finish.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "core/sha256.h"

namespace corral::plan {
namespace {

constexpr std::size_t kKeyBytes = 8;

std::string hex_key(std::string_view hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string key;
  for (const char c : hash.substr(0, kKeyBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    key += kDigits[byte >> 4U];
    key += kDigits[byte & 15U];
  }
  return key;
}
// Returns the key of the second, third, … of equal rows.
std::string hex_key(const std::string& content, int ordinal) {
  const Sha256 hash = sha256(fmt::format("{}{}", content, ordinal));
  return hex_key({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

// 0 -> A, 25 -> Z, 26 -> AA: radT has no more than 26.
std::string letters(std::size_t number) {
  std::string text;
  for (++number; number > 0; number = (number - 1) / 26)
    text.insert(text.begin(), static_cast<char>('A' + (number - 1) % 26));
  return text;
}

std::string name_of_workload(const Row& row) { return row.experiment + '\0' + row.workload; }

// radT's: "0", "0_A" and "0_B" where rows share a device, "0_A_mps". Recorded as a param, too.
void give_letters(std::vector<Row>& rows, const std::vector<RawRow>& raws) {
  for (const auto& group : groups_of(rows)) {
    std::unordered_map<std::string_view, std::size_t> sharing;
    std::unordered_map<std::string_view, std::size_t> given;
    for (const std::size_t i : group) ++sharing[raws[i][Field::kDevices]];
    for (const std::size_t i : group) {
      const std::string_view devices = raws[i][Field::kDevices];
      Row& row = rows[i];
      row.letter = row.share.devices.empty() ? "cpu" : std::string(devices);
      if (sharing[devices] > 1) row.letter += "_" + letters(given[devices]++);
      const std::string_view way = row.collocation;
      if (way != "-" && !way.empty())
        row.letter += fmt::format("_{}", way.substr(0, way.find_first_of("=:;")));
      if (std::ranges::find(row.params, "letter", &Pairs::value_type::first) == row.params.end())
        row.params.emplace_back("letter", row.letter);
    }
  }
}

}  // namespace

std::vector<std::string> keys_of(const std::vector<RawRow>& raws, bool with_workload) {
  std::unordered_map<std::string, int> seen;
  seen.reserve(raws.size());
  std::vector<std::string> keys;
  keys.reserve(raws.size());
  for (const RawRow& raw : raws) {
    const std::string content = content_hash(raw, with_workload);
    const int ordinal = seen[content]++;
    keys.push_back(ordinal == 0 ? hex_key(content) : hex_key(content, ordinal));
  }
  return keys;
}

std::vector<std::vector<std::size_t>> groups_of(const std::vector<Row>& rows) {
  std::unordered_map<std::string, std::size_t> index;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [entry, first] = index.try_emplace(name_of_workload(rows[i]), groups.size());
    if (first) groups.emplace_back();
    groups[entry->second].push_back(i);
  }
  return groups;
}

Plan finish_plan(const std::vector<RawRow>& raws, bool sweep, RowReader& reader, const Known& known,
                 ProblemList& problems) {
  Plan plan;
  plan.rows.reserve(raws.size());
  const auto keys = keys_of(raws, !sweep);
  for (std::size_t i = 0; i < raws.size(); ++i) {
    plan.rows.push_back(reader.read(raws[i]));
    plan.rows.back().key = keys[i];
  }
  give_letters(plan.rows, raws);
  if (reader.has_groups()) check_rows(plan.rows, raws, known, problems);
  plan.problems = problems.take();
  return plan;
}

void check_rows(const std::vector<Row>& rows, const std::vector<RawRow>& raws, const Known& known,
                ProblemList& problems) {
  check_devices(rows, raws, known, problems);
  check_workloads(rows, raws, problems);
}

}  // namespace corral::plan
