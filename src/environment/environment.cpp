#include "environment/environment.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "core/text.h"
#include "environment/conda.h"
#include "environment/container.h"
#include "environment/mlproject.h"
#include "environment/python.h"
#include "environment/requirements.h"
#include "environment/tool.h"

namespace corral::environment {
namespace {

// ---- texts

// A word that may precede the "=".
struct KindWord {
  std::string_view word;
  Kind kind;
  std::string_view tool;    // Spec::tool
  std::string_view target;  // kind of value, for messages
};
constexpr std::array kWords{
    KindWord{"python", Kind::kVenv, "python", "a Python interpreter"},
    KindWord{"venv", Kind::kVenv, "", "the directory of a virtual environment"},
    KindWord{"conda", Kind::kConda, "", "an environment's name, directory or environment.yml"},
    KindWord{"mamba", Kind::kConda, "mamba", "an environment's name, directory or environment.yml"},
    KindWord{"micromamba", Kind::kConda, "micromamba",
             "an environment's name, directory or environment.yml"},
    KindWord{"uv", Kind::kUv, "", "a requirements.txt or pyproject.toml"},
    KindWord{"pip", Kind::kPip, "", "a requirements.txt"},
    KindWord{"docker", Kind::kContainer, "docker", "an image"},
    KindWord{"podman", Kind::kContainer, "podman", "an image"},
    KindWord{"apptainer", Kind::kContainer, "apptainer", "an image"},
    KindWord{"singularity", Kind::kContainer, "singularity", "an image"},
    KindWord{"mlproject", Kind::kMlproject, "", "a directory with a file MLproject"},
};

struct Option {
  std::string_view name;
  Kind kind;
  bool many = false;        // may stand several times
  std::string_view values;  // "a|b": one of these
};
constexpr std::array kOptions{
    Option{"python", Kind::kUv, false, ""},
    Option{"system-packages", Kind::kUv, false, "yes|no"},
    Option{"arg", Kind::kUv, true, ""},
    Option{"python", Kind::kPip, false, ""},
    Option{"system-packages", Kind::kPip, false, "yes|no"},
    Option{"arg", Kind::kPip, true, ""},
    Option{"mount", Kind::kContainer, true, ""},
    Option{"device", Kind::kContainer, true, ""},
    Option{"gpus", Kind::kContainer, false, ""},
    Option{"user", Kind::kContainer, false, ""},
    Option{"workdir", Kind::kContainer, false, ""},
    Option{"env", Kind::kContainer, true, ""},
    Option{"entrypoint", Kind::kContainer, false, ""},
    Option{"python", Kind::kContainer, false, ""},
    Option{"pull", Kind::kContainer, false, "missing|always|never"},
    Option{"global", Kind::kContainer, true, ""},
    Option{"arg", Kind::kContainer, true, ""},
};

// The candidate that differs least from `text`, when that is little enough to be meant.
template <class Range, class Name>
std::string nearest(std::string_view text, const Range& candidates, Name name_of) {
  std::string best;
  std::size_t least = 3;
  for (const auto& candidate : candidates) {
    const std::string_view name = name_of(candidate);
    if (name.empty()) continue;
    const std::size_t edits = edit_distance(text, name);
    if (edits < least && edits < name.size()) {
      least = edits;
      best = name;
    }
  }
  return best;
}

template <class Range, class Name>
std::string names_of(const Range& all, Name name_of) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const auto& one : all) names.emplace_back(name_of(one));
  return join(names, ", ");
}

const KindWord* find_word(const Spec& spec) {
  const auto* const found = std::ranges::find_if(
      kWords, [&](const KindWord& w) { return w.kind == spec.kind && w.tool == spec.tool; });
  return found == kWords.end() ? nullptr : found;
}

tl::unexpected<Error> unknown_word(std::string_view word, bool alone) {
  const auto name_of = [](const KindWord& w) { return w.word; };
  const std::string near = nearest(lower_ascii(word), kWords, name_of);
  std::string advice = near.empty() ? "it is one of local, " + names_of(kWords, name_of)
                                    : fmt::format("did you mean {}=?", near);
  if (alone && near.empty())
    advice += fmt::format("; a conda environment of that name is conda={}", word);
  return fail(Code::kInvalidArgument,
              fmt::format("environment '{}': no such kind; {}", word, advice));
}

tl::unexpected<Error> unknown_option(const KindWord& word, std::string_view name) {
  std::vector<std::string_view> own;
  for (const Option& o : kOptions)
    if (o.kind == word.kind) own.push_back(o.name);
  const auto same = [](std::string_view n) { return n; };
  const std::string near = nearest(lower_ascii(name), own, same);
  const std::string advice = own.empty()     ? fmt::format("{}= takes none", word.word)
                             : !near.empty() ? fmt::format("did you mean {}=?", near)
                                             : "it is one of " + names_of(own, same);
  return fail(Code::kInvalidArgument,
              fmt::format("environment: {}= has no option '{}'; {}", word.word, name, advice));
}

Result<> add_option(const KindWord& word, std::string_view text, Spec& spec) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trim(text.substr(0, equals));
  const auto* const option = std::ranges::find_if(
      kOptions, [&](const Option& o) { return o.kind == word.kind && o.name == name; });
  if (option == kOptions.end()) return unknown_option(word, name);
  if (equals == std::string_view::npos)
    return fail(Code::kInvalidArgument,
                fmt::format("environment: option '{0}' has no value: {0}=…", name));
  const std::string_view value = trim(text.substr(equals + 1));
  if (value.empty() && name != "entrypoint")
    return fail(Code::kInvalidArgument, fmt::format("environment: option '{}=' is empty", name));
  if (!option->values.empty() && !std::ranges::count(split(option->values, '|'), value))
    return fail(Code::kInvalidArgument,
                fmt::format("environment: {}='{}': it is one of {}", name, value, option->values));
  const bool again = std::ranges::any_of(spec.options, [&](auto& o) { return o.first == name; });
  if (again && !option->many)
    return fail(Code::kInvalidArgument,
                fmt::format("environment: option '{}' is given twice", name));
  spec.options.emplace_back(name, value);
  return {};
}

// ---- kinds

struct KindRow {
  Kind kind;
  Result<Prepared> (*prepare)(const Spec&, const PrepareOptions&);
  Result<> (*check)(const Spec&, const PrepareOptions&);
};
constexpr std::array kKinds{
    KindRow{Kind::kLocal,
            [](const Spec&, const PrepareOptions&) { return Result<Prepared>(Prepared{}); },
            [](const Spec&, const PrepareOptions&) { return Result<>(); }},
    KindRow{Kind::kVenv, prepare_venv, check_venv},
    KindRow{Kind::kConda, prepare_conda, check_conda},
    KindRow{Kind::kUv, prepare_requirements, check_requirements},
    KindRow{Kind::kPip, prepare_requirements, check_requirements},
    KindRow{Kind::kContainer, prepare_container, check_container},
    KindRow{Kind::kMlproject, prepare_mlproject, check_mlproject},
};

const KindRow& row_for(Kind kind) { return *std::ranges::find(kKinds, kind, &KindRow::kind); }

// Returns the kind as it is recorded; each tool of conda's counts as conda.
std::string kind_name(const Spec& spec) {
  if (spec.kind == Kind::kConda) return "conda";
  const KindWord* const word = find_word(spec);
  return word == nullptr ? "local" : std::string(word->word);
}

}  // namespace

Result<Spec> parse(std::string_view text) {
  text = trim(text);
  if (text.empty() || text == "-" || text == "local") return Spec{};
  // Entries of a file or a variable; the executed and recorded words contain no such bytes.
  if (text.find_first_of(std::string_view("\0\n\r", 3)) != std::string_view::npos)
    return fail(Code::kInvalidArgument, "environment: it contains a line break or a NUL byte");
  const std::vector<std::string_view> parts = split(text, ';');
  const std::size_t equals = parts[0].find('=');
  const std::string_view given = trim(parts[0].substr(0, equals));
  const auto* const word =
      std::ranges::find_if(kWords, [&](const KindWord& w) { return w.word == lower_ascii(given); });
  if (word == kWords.end()) return unknown_word(given, equals == std::string_view::npos);
  Spec spec{.kind = word->kind, .tool = std::string(word->tool), .target = {}, .options = {}};
  if (equals != std::string_view::npos) spec.target = trim(parts[0].substr(equals + 1));
  if (spec.target.empty())
    return fail(Code::kInvalidArgument,
                fmt::format("environment '{}': {}= names {}", text, word->word, word->target));
  for (const std::string_view part : std::span(parts).subspan(1))
    if (!trim(part).empty()) TRY(add_option(*word, part, spec));
  return spec;
}

std::string to_string(const Spec& spec) {
  const KindWord* const word = find_word(spec);
  if (spec.kind == Kind::kLocal || word == nullptr) return "local";
  std::string text = fmt::format("{}={}", word->word, spec.target);
  for (const auto& [name, value] : spec.options) text += fmt::format(";{}={}", name, value);
  return text;
}

fs::path default_cache() {
  const std::string cache = own_variable("XDG_CACHE_HOME");
  const std::string home = own_variable("HOME");
  fs::path root = fmt::format("/var/tmp/corral-{}", ::geteuid());
  if (cache.starts_with('/')) {
    root = fs::path(cache) / "corral";
  } else if (home.starts_with('/')) {
    root = fs::path(home) / ".cache" / "corral";
  }
  return root / "environments";
}

Result<Prepared> prepare(const Spec& spec, const PrepareOptions& options) {
  const std::string text = without_credentials(to_string(spec));
  bool interrupted = false;
  PrepareOptions watched = options;
  watched.cancelled = [&] { return interrupted = interrupted || is_cancelled(options); };
  auto prepared = row_for(spec.kind).prepare(spec, watched);
  // This is no fault of the environment; and an interrupted process must not continue with a
  // partial one.
  if (interrupted) return fail(Code::kUnavailable, "interrupted");
  if (!prepared) return tl::unexpected(prepared.error());
  prepared->record.insert(prepared->record.begin(),
                          {{"environment.kind", kind_name(spec)}, {"environment.spec", text}});
  return prepared;
}

Result<std::vector<std::string>> entry_command(const Prepared& prepared,
                                               const std::vector<std::string>& command) {
  if (prepared.project == nullptr) return command;
  return expand_command(*prepared.project, command);
}

std::vector<std::string> environment_with(std::vector<std::string> environment,
                                          const std::vector<std::string>& added) {
  for (const std::string& entry : added) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(environment, [&](const std::string& e) { return e.starts_with(name); });
    environment.push_back(entry);
  }
  return environment;
}

Result<> check(const Spec& spec, const PrepareOptions& options) {
  return row_for(spec.kind).check(spec, options);
}

}  // namespace corral::environment
