#include "plan/generate_spec.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/text.h"
#include "plan/raw_row.h"
#include "plan/spelling.h"

namespace corral::plan {
namespace {

// Values that the matrix itself gives: n (number of the cell in its experiment), i (of the run in
// its workload, from 0), k, job, sharing, experiment.
constexpr std::array kBuiltIn =
    std::to_array<std::string_view>({"n", "i", "k", "job", "sharing", "experiment"});

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Letters, digits, _ and -, a letter first.
bool is_value_name(std::string_view name) {
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Returns the names that a template holds; kInvalidArgument describes its fault.
Result<std::vector<std::string>> template_names(std::string_view text) {
  std::vector<std::string> names;
  TRY(fill_template(text, [&](std::string_view name) {
    names.emplace_back(name);
    return std::optional<std::string>("");
  }));
  return names;
}

constexpr std::array kTop = std::to_array<std::string_view>(
    {"columns", "order", "seed", "repeats", "row", "jobs", "sharing", "cells", "experiments"});
constexpr std::array kExperimentWords =
    std::to_array<std::string_view>({"jobs", "cells", "sharing", "k", "baselines", "slices"});
constexpr std::array kCellWords = std::to_array<std::string_view>({"k", "sharing"});
constexpr int kMostCopies = 64;
constexpr int kMostRepeats = 1000;

using Words = std::span<const std::string_view>;

Position position_at(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? Position{} : Position{.line = mark.line + 1, .column = mark.column + 1};
}

std::string scalar_text(const YAML::Node& node) { return node.IsNull() ? "" : node.Scalar(); }

std::vector<std::string_view> part_names(const std::vector<SpecPart>& parts) {
  std::vector<std::string_view> names;
  names.reserve(parts.size());
  for (const SpecPart& part : parts) names.push_back(part.name);
  return names;
}

std::optional<std::size_t> index_of(const std::vector<SpecPart>& parts, std::string_view name) {
  const auto found = std::ranges::find(parts, name, &SpecPart::name);
  if (found == parts.end()) return std::nullopt;
  return static_cast<std::size_t>(found - parts.begin());
}

class Reader {
 public:
  explicit Reader(std::vector<Problem>& problems) : problems_(problems) {}

  Spec read(const YAML::Node& root) {
    if (!is_map(root, "the specification")) return {};
    general(root);
    if (const YAML::Node node = root["row"]; node && is_map(node, "row"))
      spec_.row = fields(node, {}, false);
    spec_.jobs = parts(root["jobs"], "jobs");
    spec_.sharing = parts(root["sharing"], "sharing");
    if (spec_.jobs.empty()) report(root, "jobs", "is missing: name the jobs to train");
    if (const YAML::Node node = root["cells"]) common_cells_ = cells(node);
    const YAML::Node experiments = root["experiments"];
    if (!experiments) {
      report(root, "experiments", "is missing");
    } else if (is_map(experiments, "experiments")) {
      for (const auto& pair : experiments) experiment(pair.first, pair.second);
    }
    return std::move(spec_);
  }

 private:
  void report(const YAML::Node& at, std::string_view field, std::string reason,
              std::string advice = "") {
    const Position position = position_at(at);
    Problem problem{.line = position.line,
                    .column = position.column,
                    .field = std::string(field),
                    .value = at.IsDefined() && at.IsScalar() ? at.Scalar() : "",
                    .reason = std::move(reason),
                    .advice = std::move(advice)};
    if (problem.value == problem.field) problem.value.clear();
    problems_.push_back(std::move(problem));
  }

  bool is_map(const YAML::Node& node, std::string_view field) {
    if (node.IsMap()) return true;
    report(node, field, "must hold `key: value` pairs");
    return false;
  }

  // A list, or a single value as a list of one.
  std::vector<YAML::Node> list(const YAML::Node& node) {
    if (!node.IsSequence()) return {node};
    std::vector<YAML::Node> items;
    for (const auto& item : node) items.push_back(item);
    return items;
  }

  std::optional<std::string> scalar(const YAML::Node& node, std::string_view field) {
    if (node.IsScalar() || node.IsNull()) return scalar_text(node);
    report(node, field, "must be a text or a number");
    return std::nullopt;
  }

  std::optional<int> number(const YAML::Node& node, std::string_view field, int most) {
    const auto value = node.IsScalar() ? parse_int(node.Scalar()) : std::nullopt;
    if (value && *value >= 1 && *value <= most) return static_cast<int>(*value);
    report(node, field, fmt::format("must be a number from 1 to {}", most));
    return std::nullopt;
  }

  // Reads the fields of a map beside its `reserved` words.
  SpecFields fields(const YAML::Node& map, Words reserved, bool axes) {
    SpecFields found;
    for (const auto& pair : map) {
      const auto key = scalar(pair.first, "a key");
      if (!key || std::ranges::find(reserved, *key) != reserved.end()) continue;
      if (!is_value_name(*key)) {
        report(pair.first, *key, "must be letters, digits, _ and -, a letter first");
        continue;
      }
      if (pair.second.IsSequence() && (!axes || pair.second.size() == 0)) {
        report(pair.second, *key,
               axes ? "has no values" : "several values belong in an experiment or a cell");
        continue;
      }
      SpecField field{.key = *key, .values = {}, .position = position_at(pair.second)};
      for (const YAML::Node& item : list(pair.second)) {
        if (auto value = scalar(item, *key)) field.values.push_back(std::move(*value));
      }
      if (!field.values.empty()) add_field(std::move(field), pair.first, found);
    }
    return found;
  }

  void add_field(SpecField field, const YAML::Node& key, SpecFields& fields) {
    if (std::ranges::find(fields, field.key, &SpecField::key) != fields.end()) {
      report(key, field.key, "is given twice");
      return;
    }
    if (field.is_column()) {
      const auto column = find_field(field.key);
      if (!column) {
        report(key, field.key, "is not a column of a plan", suggest(field.key, kColumnNames, ""));
        return;
      }
      if (*column == Field::kStatus || *column == Field::kRun) {
        report(key, field.key, "is written by `corral run`");
        return;
      }
      field.key = column_name(*column);
    } else if (std::ranges::find(kBuiltIn, field.key) != kBuiltIn.end()) {
      report(key, field.key, "is a value that the matrix itself gives");
      return;
    }
    fields.push_back(std::move(field));
  }

  std::vector<SpecPart> parts(const YAML::Node& map, std::string_view field) {
    std::vector<SpecPart> found;
    if (!map.IsDefined() || !is_map(map, field)) return found;
    for (const auto& pair : map) {
      const auto name = scalar(pair.first, field);
      if (!name || !is_map(pair.second, *name)) continue;
      if (index_of(found, *name)) {
        report(pair.first, *name, "is given twice");
        continue;
      }
      found.push_back({.name = *name,
                       .fields = fields(pair.second, {}, false),
                       .position = position_at(pair.first)});
    }
    return found;
  }

  void general(const YAML::Node& root) {
    for (const auto& pair : root) {
      const auto key = scalar(pair.first, "a key");
      if (key && std::ranges::find(kTop, *key) == kTop.end())
        report(pair.first, *key, "is not a word of a specification", suggest(*key, kTop));
    }
    if (const YAML::Node node = root["columns"]) {
      for (const YAML::Node& item : list(node)) {
        const auto name = scalar(item, "columns");
        if (!name) continue;
        if (!find_field(*name))
          report(item, "columns", "is not a column of a plan", suggest(*name, kColumnNames, ""));
        spec_.columns.push_back(*name);
      }
    }
    if (const YAML::Node node = root["order"]) {
      spec_.random = node.IsScalar() && node.Scalar() == "random";
      if (!spec_.random && !(node.IsScalar() && node.Scalar() == "written"))
        report(node, "order", "must be `written` or `random`");
    }
    if (const YAML::Node node = root["seed"]) seed(node);
    if (const YAML::Node node = root["repeats"])
      spec_.repeats = number(node, "repeats", kMostRepeats).value_or(1);
  }

  std::vector<std::size_t> ways(const YAML::Node& node) {
    std::vector<std::size_t> found;
    for (const YAML::Node& item : list(node)) {
      const auto name = scalar(item, "sharing");
      if (!name) continue;
      if (const auto index = index_of(spec_.sharing, *name))
        found.push_back(*index);
      else
        report(item, "sharing", "is not among the ways of `sharing`",
               suggest(*name, part_names(spec_.sharing)));
    }
    return found;
  }

  // "2S+M"
  std::optional<SpecMix> mix(const YAML::Node& node) {
    const auto text = scalar(node, "jobs");
    if (!text) return std::nullopt;
    SpecMix mix{.name = *text, .jobs = {}};
    for (const std::string_view part : split(*text, '+')) {
      std::string_view name = trim(part);
      std::int64_t copies = 1;
      if (!index_of(spec_.jobs, name)) {
        const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
        copies = digits > 0 ? parse_int(name.substr(0, digits)).value_or(0) : 1;
        name = trim(name.substr(digits));
      }
      const auto index = index_of(spec_.jobs, name);
      if (!index) {
        report(node, "jobs", fmt::format("'{}' is not a job", name),
               suggest(name, part_names(spec_.jobs)));
        return std::nullopt;
      }
      if (copies < 1 || copies > kMostCopies) {
        report(node, "jobs", fmt::format("from 1 to {} of a job run together", kMostCopies));
        return std::nullopt;
      }
      mix.jobs.insert(mix.jobs.end(), static_cast<std::size_t>(copies), *index);
    }
    return mix;
  }

  // [S, 2S+M], or {11: S+M}: with names of their own.
  std::vector<SpecMix> mixes(const YAML::Node& node) {
    std::vector<SpecMix> found;
    if (!node.IsMap()) {
      for (const YAML::Node& item : list(node)) {
        if (auto one = mix(item)) found.push_back(std::move(*one));
      }
      return found;
    }
    for (const auto& pair : node) {
      const auto name = scalar(pair.first, "jobs");
      auto one = mix(pair.second);
      if (!name || !one) continue;
      one->name = *name;
      found.push_back(std::move(*one));
    }
    return found;
  }

  // `whole`: an experiment that is a single cell; its fields are the experiment's.
  SpecCell cell(const YAML::Node& map, bool whole) {
    SpecCell found;
    if (const YAML::Node k = map["k"]) {
      found.copies.clear();
      for (const YAML::Node& item : list(k)) {
        if (const auto copies = number(item, "k", kMostCopies)) found.copies.push_back(*copies);
      }
    }
    if (const YAML::Node sharing = map["sharing"])
      found.sharing = ways(sharing);
    else if (!spec_.sharing.empty())
      report(map, "sharing", "is missing: name ways of `sharing`");
    if (!whole) found.fields = fields(map, kCellWords, true);
    return found;
  }

  std::vector<SpecCell> cells(const YAML::Node& node) {
    std::vector<SpecCell> found;
    for (const YAML::Node& item : list(node)) {
      if (is_map(item, "cells")) found.push_back(cell(item, false));
    }
    return found;
  }

  void experiment(const YAML::Node& name, const YAML::Node& map) {
    const auto text = scalar(name, "experiments");
    if (!text || !is_map(map, *text)) return;
    SpecExperiment found{.name = *text,
                         .mixes = {},
                         .cells = {},
                         .fields = fields(map, kExperimentWords, true),
                         .baselines = {},
                         .slices = false,
                         .position = position_at(name)};
    if (const YAML::Node jobs = map["jobs"])
      found.mixes = mixes(jobs);
    else
      report(name, "jobs", "is missing: name the jobs of the experiment");
    const bool own = map["sharing"].IsDefined() || map["k"].IsDefined();
    if (const YAML::Node node = map["cells"]) {
      if (own) report(node, "cells", "excludes `k` and `sharing` beside it");
      found.cells = cells(node);
    } else if (own || common_cells_.empty()) {
      found.cells = {cell(map, true)};
    } else {
      found.cells = common_cells_;
    }
    if (const YAML::Node node = map["baselines"]) {
      if (const auto indices = ways(node); indices.size() == 1) found.baselines = indices[0];
    }
    if (const YAML::Node node = map["slices"]) {
      found.slices = node.IsScalar() && node.Scalar() == "true";
      if (!found.slices && !(node.IsScalar() && node.Scalar() == "false"))
        report(node, "slices", "must be true or false");
    }
    spec_.experiments.push_back(std::move(found));
  }

  void seed(const YAML::Node& node) {
    const auto value = node.IsScalar() ? parse_int(node.Scalar()) : std::nullopt;
    if (value && *value >= 0)
      spec_.seed = static_cast<std::uint64_t>(*value);
    else
      report(node, "seed", "must be a number from 0");
  }

  std::vector<Problem>& problems_;
  Spec spec_;
  std::vector<SpecCell> common_cells_;
};

// All columns and values of a specification.
std::vector<const SpecField*> all_fields(const Spec& spec) {
  std::vector<const SpecField*> all;
  const auto append = [&all](const SpecFields& fields) {
    for (const SpecField& field : fields) all.push_back(&field);
  };
  append(spec.row);
  for (const SpecPart& part : spec.jobs) append(part.fields);
  for (const SpecPart& part : spec.sharing) append(part.fields);
  for (const SpecExperiment& experiment : spec.experiments) {
    append(experiment.fields);
    for (const SpecCell& cell : experiment.cells) append(cell.fields);
  }
  return all;
}

// Finds names in templates without a value, and values that no template names.
void check_names(const Spec& spec, std::vector<Problem>& problems) {
  const auto all = all_fields(spec);
  std::set<std::string_view> given, named;
  given.insert(kBuiltIn.begin(), kBuiltIn.end());
  for (const SpecField* field : all)
    if (!field->is_column()) given.insert(field->key);
  const std::vector<std::string_view> known(given.begin(), given.end());
  std::vector<std::string> kept;  // text that `named` views
  for (const SpecField* field : all) {
    if (!field->is_column()) continue;
    for (const std::string& text : field->values) {
      const auto names = template_names(text);
      if (!names) {
        report_once(*field, names.error().message, problems);
        continue;
      }
      for (const std::string& name : *names) {
        if (!given.contains(name))
          report_once(*field, fmt::format("no value for {{{}}}", name), problems,
                      suggest(name, known, ""));
        kept.push_back(name);
      }
    }
  }
  named.insert(kept.begin(), kept.end());
  const std::vector<std::string_view> used(named.begin(), named.end());
  for (const SpecField* field : all) {
    if (!field->is_column() && !named.contains(field->key))
      report_once(*field, "is not used by any column", problems, suggest(field->key, used, ""));
  }
}

}  // namespace

void report_once(const SpecField& field, std::string reason, std::vector<Problem>& problems,
                 std::string advice) {
  Problem problem{.line = field.position.line,
                  .column = field.position.column,
                  .field = field.key,
                  .reason = std::move(reason),
                  .advice = std::move(advice)};
  const auto same = [&](const Problem& p) {
    return p.line == problem.line && p.column == problem.column && p.reason == problem.reason;
  };
  if (std::ranges::none_of(problems, same)) problems.push_back(std::move(problem));
}

Result<std::string> fill_template(std::string_view text, const ValueOf& value) {
  std::string filled;
  while (!text.empty()) {
    const std::size_t bracket = std::min(text.find_first_of("{}"), text.size());
    filled += text.substr(0, bracket);
    text.remove_prefix(bracket);
    if (text.empty()) break;
    if (text.size() > 1 && text[1] == text[0]) {
      filled += text[0];
      text.remove_prefix(2);
      continue;
    }
    const std::size_t end = text.find('}');
    if (text[0] == '}' || end == std::string_view::npos)
      return fail(
          Code::kInvalidArgument,
          fmt::format("has a single {}; write {}{} for the character", text[0], text[0], text[0]));
    const std::string_view name = text.substr(1, end - 1);
    if (!is_value_name(name))
      return fail(Code::kInvalidArgument, fmt::format("{{{}}} is not the name of a value", name));
    const auto found = value(name);
    if (!found) return fail(Code::kNotFound, std::string(name));
    filled += *found;
    text.remove_prefix(end + 1);
  }
  return filled;
}

Spec read_spec(std::string_view yaml, std::vector<Problem>& problems) {
  try {
    Spec spec = Reader(problems).read(YAML::Load(std::string(yaml)));
    if (problems.empty()) check_names(spec, problems);
    std::ranges::stable_sort(problems, {}, &Problem::line);
    return spec;
  } catch (const YAML::Exception& error) {
    problems.push_back({
        .line = error.mark.line + 1,
        .column = error.mark.column + 1,
        .reason = "not YAML: " + error.msg,
    });
    return {};
  }
}

}  // namespace corral::plan
