#include "cli/arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/config_keys.h"
#include "cli/config_text.h"
#include "cli/help.h"
#include "cli/table.h"
#include "core/result.h"
#include "core/text.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;
namespace foreign = collect::foreign;

std::string upper(std::string_view text) {
  std::string name(text);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::string variable_name(std::string_view option) {
  std::string name = "CORRAL_" + upper(option);
  std::ranges::replace(name, '-', '_');
  return name;
}

constexpr const char* kGeneral = "General";
constexpr std::size_t kShortChoices = 21;  // with the option's name

std::string_view to_view(const char* word) { return word; }
std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

// Options of other tools, and the one that has their meaning here.
constexpr std::array kElsewhere = {Elsewhere{"experiment-name", "experiment"},
                                   Elsewhere{"run-name", "name"},
                                   Elsewhere{"port", "listen"},
                                   Elsewhere{"host", "listen"},
                                   Elsewhere{"backend-store-uri", "store"},
                                   Elsewhere{"tracking-uri", "server"},
                                   Elsewhere{"default-artifact-root", "artifacts"}};

// The option that was meant, without dashes; empty: none is near.
std::string meant_option(std::string_view given, const std::vector<std::string>& names) {
  const auto other = std::ranges::find(kElsewhere, given, &Elsewhere::word);
  if (other != kElsewhere.end() && std::ranges::find(names, other->here) != names.end())
    return std::string(other->here);
  return nearest_name(given, views(names));
}

// Says which of the words that nothing takes is wrong; `otherwise` if there is none.
std::string unexpected_word(const std::vector<std::string>& left, const char* otherwise) {
  if (left.empty()) return otherwise;
  const auto option =
      std::ranges::find_if(left, [](const std::string& word) { return word.starts_with('-'); });
  if (option != left.end()) return "unknown option " + *option;
  return fmt::format("unexpected argument '{}'", left.front());
}

bool asks_for_help(std::span<char* const> flags) {
  return std::ranges::any_of(
      flags, [](std::string_view word) { return word == "--help" || word == "-h"; });
}

// Returns the item's place in the file: "corral.toml:3: ".
std::string item_location(const ConfigFile& file, const std::vector<ConfigLine>& lines,
                          const CLI::ConfigItem& item) {
  for (const ConfigLine& line : lines) {
    const std::string whole = line.section.empty() ? line.option : line.section + "." + line.option;
    if (whole == item.fullname()) return fmt::format("{}:{}: ", file.path.string(), line.number);
  }
  return file.path.string() + ": ";
}

// Process listings show these arguments to other users.
void hide_passwords(std::span<char* const> args) {
  for (char* const word : args) {
    const std::string_view text = word;
    const std::size_t value = text.starts_with("-") ? text.find('=') + 1 : 0;
    if (!sys::is_database_url(text.substr(value))) continue;
    for (const auto& [start, length] : sys::passwords_in(text))
      std::fill_n(word + start, length, 'x');
  }
}

}  // namespace

struct Arguments::Impl {
  CLI::App app;
  std::string name;
  std::vector<std::string> names;                          // all options, without dashes
  std::map<std::string, std::vector<std::string>*> lists;  // options that may be repeated
  std::map<std::string, std::string*> texts;
  std::vector<std::pair<std::string, std::string>> exclusive;
  std::map<std::string, ConfigOrigin> in_file;  // the file that gave an option last
  std::set<std::string> flag_only;
  std::vector<std::string>* rest = nullptr;
  std::string usage;  // the words after the options
  std::string heading = "Options";
  std::string about;
  std::string examples;
  Help help;
  bool (*alone)(std::string_view) = nullptr;
  std::string config;
  foreign::Sources* sources = nullptr;  // nullptr: not read
  std::string* withheld = nullptr;
  bool* token_kept_back = nullptr;
  std::function<void()> then;
  bool asks = false;
  std::vector<std::string> notices;  // about ignored options of files
  std::string refusal;               // why the command may not go on; empty: it may
  std::pair<std::string, std::string> config_variable;

  // `value` is the name of the option's value; empty for a flag.
  CLI::Option* named(const std::string& option, const std::string& value, CLI::Option* added) {
    names.push_back(option);
    help.add(heading, "--" + option + (value.empty() ? "" : " " + value), added->get_description());
    return added->envname(variable_name(option));
  }

  void add_positional(const std::string& word, const std::string& text, bool required) {
    help.add("Arguments", word, text);
    usage += required ? " " + word : " [" + word + "]";
  }

  [[nodiscard]] std::string help_text() {
    help.add(kGeneral, "--config FILE",
             "configuration file (default: ~/.config/corral/ and ./corral.toml)");
    help.add(kGeneral, "-h, --help", "show this help and exit");
    help.move_to_end(kPlaces);
    help.move_to_end(kGeneral);
    return fmt::format("{}\n\nUsage: corral {} [OPTIONS]{}\n{}{}\nExamples:\n{}", wrapped(about),
                       name, usage, help.text(), elsewhere(), examples);
  }

  // Returns the sentence that names the other places where options can be given.
  [[nodiscard]] std::string elsewhere() const {
    std::vector<std::string> only;
    std::string example;
    for (const std::string& option : names) {
      if (option == "config") continue;
      if (flag_only.contains(option)) {
        only.push_back("--" + option);
      } else if (example.empty() || option == "store") {
        example = option;
      }
    }
    if (example.empty()) return "";
    return "\n" +
           wrapped(fmt::format("Options can also be set in the environment ({} for --{}) and in "
                               "corral.toml{}{}.",
                               variable_name(example), example, only.empty() ? "" : ", except ",
                               join(only, ", "))) +
           "\n";
  }

  [[nodiscard]] bool is_mine(const CLI::ConfigItem& item) const {
    return item.parents.empty() || item.parents[0] == name;
  }
  [[nodiscard]] bool is_known(const std::string& option) const {
    return std::ranges::find(names, option) != names.end() && !flag_only.contains(option);
  }

  // The error is the problem of the file.
  Result<std::vector<CLI::ConfigItem>> read_items(const ConfigFile& file) {
    std::istringstream in(without_sources(file.text));
    const auto read = read_config_lines(in);
    if (!read)
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}", file.path.string(), read.error().message));
    TRY(check_sections(file, *read));
    in.clear();
    in.seekg(0);
    std::vector<CLI::ConfigItem> items;
    try {
      items = CLI::ConfigTOML().from_config(in);
    } catch (const CLI::Error& error) {
      return fail(Code::kInvalidArgument, fmt::format("{}: {}", file.path.string(), error.what()));
    }
    std::erase_if(items, [](const CLI::ConfigItem& item) {
      return item.name == "++" || item.name == "--" || item.inputs.empty();
    });
    for (const CLI::ConfigItem& item : items)
      TRY(check_item(item).map_error([&](const Error& error) {
        return Error{error.code, item_location(file, *read, item) + error.message};
      }));
    std::erase_if(items, [this](const CLI::ConfigItem& item) {
      return !is_mine(item) || !is_known(item.name);
    });
    return items;
  }

  static Result<> check_sections(const ConfigFile& file, const std::vector<ConfigLine>& lines) {
    for (const ConfigLine& line : lines) {
      if (!line.option.empty() || is_command_section(line.section)) continue;
      const std::string kind = line.section.substr(0, line.section.find('.'));
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}: unknown section [{}]{}", file.path.string(), line.number,
                              line.section, did_you_mean(kind, section_names())));
    }
    return {};
  }

  Result<> check_item(const CLI::ConfigItem& item) {
    const bool own = !item.parents.empty() && item.parents[0] == name;
    // Such a line did never count, but is no slip of the pen.
    if (is_known(item.name) || (is_mine(item) && flag_only.contains(item.name))) return {};
    if (own)
      return fail(Code::kInvalidArgument, fmt::format("[{}] has no option '{}'{}", name, item.name,
                                                      did_you_mean(item.name, views(names))));
    if (option_counts(item.name)) return {};  // another subcommand's option
    return fail(Code::kInvalidArgument, fmt::format("unknown option '{}'{}", item.name,
                                                    did_you_mean(item.name, option_names())));
  }

  // Lines of the file become defaults, which environment and flags override.
  Result<> apply(const ConfigFile& file, const std::vector<CLI::ConfigItem>& items) {
    for (const CLI::ConfigItem& item : items) {
      in_file[item.name] = file.origin;
      if (const auto list = lists.find(item.name); list != lists.end()) {
        *list->second = item.inputs;  // flags and environment replace it whole
        continue;
      }
      try {
        CLI::Option* option = app.get_option("--" + item.name);
        option->run_callback_for_default()->default_val(CLI::detail::join(item.inputs, ","));
      } catch (const CLI::Error& error) {
        return fail(Code::kInvalidArgument, fmt::format("{}: {} = {}: {}", file.path.string(),
                                                        item.name, item.inputs[0], error.what()));
      }
    }
    return {};
  }

  // Takes away the items that this file may not give, unless the user has given them in a stronger
  // way. Their names, and those of its untrusted sources, go to `held`.
  void remove_held(std::vector<CLI::ConfigItem>& items, foreign::Sources& recorded,
                   std::vector<std::string>& held, std::span<char* const> flags) {
    const auto chosen = [&](const std::string& option) { return strength(option, flags) >= 3; };
    const bool place_chosen = chosen("server") || chosen("store");
    std::erase_if(items, [&](const CLI::ConfigItem& item) {
      if (option_counts(item.name) == Counts::kAlways) return false;
      const bool place = item.name == "server" || item.name == "store";
      if (place ? place_chosen : chosen(item.name)) return true;
      if (std::ranges::find(held, item.name) == held.end()) held.push_back(item.name);
      return !place || withheld == nullptr;
    });
    for (std::string& section : remove_untrusted(recorded)) held.push_back(std::move(section));
  }

  // Applies the lines of the file that count. The error is the problem of the file.
  Result<> apply_file(ConfigFile& file, std::span<char* const> flags) {
    std::vector<CLI::ConfigItem> items = TRY(read_items(file));
    foreign::Sources recorded;
    if (sources != nullptr) recorded = TRY(read_sources(file.text, file.path.string()));
    if (!file.trusted) {
      std::vector<CLI::ConfigItem> harmless = items;
      foreign::Sources harmless_sources = recorded;
      std::vector<std::string> held;
      remove_held(harmless, harmless_sources, held, flags);
      const bool ask = asks && !held.empty() && file.origin == ConfigOrigin::kDirectory &&
                       !asks_for_help(flags) && at_terminal();
      if (!ask || !ask_to_trust(file, held)) {
        note_held(file, held);
        items = std::move(harmless);
        recorded = std::move(harmless_sources);
      }
    }
    TRY(apply(file, items));
    if (sources != nullptr) merge_sources(*sources, std::move(recorded));
    return {};
  }

  void note_held(const ConfigFile& file, const std::vector<std::string>& held) {
    if (held.empty()) return;
    const bool place = std::ranges::any_of(held, [](const std::string& held_name) {
      return held_name == "server" || held_name == "store";
    });
    const std::string what =
        fmt::format("{} is not trusted: ignored {}", file.path.string(), join(held, ", "));
    if (place && withheld == nullptr) {
      refusal = fmt::format(
          "{} names the server or store, but is not trusted: {}; or choose one "
          "with --server or --store",
          file.path.string(), file.advice);
      return;
    }
    if (place) *withheld = fmt::format("{} is not trusted", file.path.string());
    notices.push_back(fmt::format(
        "{}{}; {}", what, place ? "; the data waits in the spool for the place it names" : "",
        file.advice));
  }

  // Returns the strength with which an option was given: 4 flag, 3 environment, 2 ./corral.toml, 1
  // a file of the user's, 0 not at all.
  int strength(const std::string& option, std::span<char* const> flags) {
    const std::string flag = "--" + option;
    const auto is_it = [&](std::string_view word) {
      return word == flag || word.starts_with(flag + "=");
    };
    if (std::ranges::any_of(flags, is_it)) return 4;
    const char* variable = std::getenv(variable_name(option).c_str());
    if (variable != nullptr && *variable != '\0') return 3;
    const auto found = in_file.find(option);
    if (found == in_file.end()) return 0;
    return found->second == ConfigOrigin::kDirectory ? 2 : 1;
  }

  void settle_exclusive(std::span<char* const> flags) {
    for (const auto& [a, b] : exclusive) {
      const int difference = strength(a, flags) - strength(b, flags);
      if (difference != 0) texts.at(difference > 0 ? b : a)->clear();
    }
  }

  void settle_token(std::span<char* const> flags) {
    if (token_kept_back == nullptr) return;
    const int place = strength(texts.at("server")->empty() ? "store" : "server", flags);
    const int token = strength("token-file", flags);
    *token_kept_back = token != 0 && token != 2 && place == 2;
  }

  // The words to pass on start at the first word that is neither an option nor an option's value.
  std::size_t prefix_length(std::span<char* const> args) {
    for (std::size_t i = 0; i < args.size(); ++i) {
      const std::string_view word = args[i];
      if (word == "--" || !word.starts_with("-") || word == "-") return i;
      const std::string option(word.substr(0, word.find('=')));
      const CLI::Option* known = app.get_option_no_throw(option);
      if (known != nullptr && word.find('=') == std::string_view::npos &&
          known->get_expected_min() > 0)
        ++i;
    }
    return args.size();
  }

  // Removes the words to pass on. Returns the number of words in front of them, the options.
  std::size_t split(std::vector<char*>& args) {
    if (rest == nullptr) return args.size();
    std::size_t length = prefix_length(args);
    if (alone != nullptr && length < args.size() && alone(args[length]) &&
        std::ranges::find(args, std::string_view("--"), to_view) == args.end()) {
      const auto word = args.begin() + static_cast<std::ptrdiff_t>(length);
      std::rotate(word, word + 1, args.end());
      length = prefix_length(args);
    }
    for (std::size_t i = length; i < args.size(); ++i) {
      if (i > length || to_view(args[i]) != "--") rest->emplace_back(args[i]);
    }
    return length;
  }
};

// At most one that was named; else the folder of ./corral.toml, whether there is one or not.
std::pair<std::string, std::string> variable_for(const std::vector<ConfigFile>& files) {
  std::error_code error;
  if (!files.empty() && files.back().origin == ConfigOrigin::kNamed)
    return {"CORRAL_CONFIG", fs::absolute(files.back().path, error).string()};
  const char* folder = std::getenv(kConfigFolder);
  return {kConfigFolder, folder != nullptr && *folder != '\0' ? std::string(folder)
                                                              : fs::current_path(error).string()};
}

Arguments::Arguments(const std::string& name, const std::string& about, const std::string& examples)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = name;
  impl_->about = about;
  impl_->examples = examples;
  impl_->app.add_option("--config", impl_->config);
  impl_->names.emplace_back("config");
}
Arguments::~Arguments() = default;

void Arguments::group(const std::string& heading) { impl_->heading = heading; }

void Arguments::text(const std::string& name, std::string& value, const std::string& help,
                     char letter) {
  impl_->texts[name] = &value;
  const std::string both = letter == '\0' ? "" : fmt::format("-{},", letter);
  impl_->named(name, "TEXT", impl_->app.add_option(both + "--" + name, value, help));
}
void Arguments::never_empty(const std::string& name) {
  impl_->app.get_option("--" + name)
      ->check(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? std::string("an empty name (an unset variable?)") : std::string();
          },
          ""));
}
void Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  impl_->named(name, "", impl_->app.add_flag("--" + name, value, help));
}
void Arguments::choice(const std::string& name, std::string& value,
                       std::vector<std::string> choices, const std::string& help) {
  const std::string listed = join(choices, "|");
  impl_->named(
      name, name.size() + listed.size() > kShortChoices ? "NAME" : listed,
      impl_->app.add_option("--" + name, value, help)->check(CLI::IsMember(std::move(choices))));
}
void Arguments::texts(const std::string& name, std::vector<std::string>& values,
                      const std::string& help) {
  impl_->named(name, "TEXT",
               impl_->app.add_option("--" + name, values, help)->expected(1)->take_all());
  impl_->lists[name] = &values;
}
void Arguments::duration(const std::string& name, Nanos& value, const std::string& help) {
  const auto parse = [&value, option = "--" + name](const std::string& text) {
    value = parse_duration(text);
    if (value == kNoDuration)
      throw CLI::ValidationError(
          option, "'" + text + "': expected a duration, e.g. 100ms, 2s, 1.5m, 3h, 1d");
  };
  impl_->named(name, "DURATION",
               impl_->app.add_option_function<std::string>("--" + name, parse, help));
}
void Arguments::bytes(const std::string& name, std::int64_t& value, const std::string& help) {
  const auto parse = [&value, option = "--" + name](const std::string& text) {
    const auto parsed = parse_bytes(text);
    if (!parsed)
      throw CLI::ValidationError(option,
                                 "'" + text + "': expected a size, e.g. 512MiB, 2GiB, 1000");
    value = *parsed;
  };
  impl_->named(name, "SIZE", impl_->app.add_option_function<std::string>("--" + name, parse, help));
}
void Arguments::positional(const std::string& name, std::string& value, const std::string& help,
                           bool required) {
  impl_->app.add_option(name, value)->required(required);
  impl_->add_positional(upper(name), help, required);
}
void Arguments::positionals(const std::string& name, std::vector<std::string>& values,
                            const std::string& help, bool required) {
  impl_->app.add_option(name, values)->required(required);
  impl_->add_positional(upper(name) + "...", help, required);
}
void Arguments::rest(const std::string& name, std::vector<std::string>& values,
                     bool (*alone)(std::string_view word)) {
  impl_->rest = &values;
  impl_->usage += " " + name;
  impl_->alone = alone;
}

void Arguments::sources(foreign::Sources& sources) { impl_->sources = &sources; }
void Arguments::withholds(std::string& why) { impl_->withheld = &why; }
void Arguments::asks_to_trust() { impl_->asks = true; }
void Arguments::then(std::function<void()> settle) { impl_->then = std::move(settle); }

void Arguments::guard_token(bool& kept_back) { impl_->token_kept_back = &kept_back; }

void Arguments::exclusive(const std::string& a, const std::string& b) {
  impl_->exclusive.emplace_back(a, b);
}

void Arguments::as_flag_only(const std::string& name) {
  impl_->flag_only.insert(name);
  impl_->app.get_option("--" + name)->envname("");
}

void Arguments::hidden(const std::string& name) {
  as_flag_only(name);
  impl_->help.remove("--" + name);
  std::erase(impl_->names, name);
}

std::pair<std::string, std::string> Arguments::config_variable() const {
  return impl_->config_variable;
}

std::string Arguments::variable_problem(const std::string& variable, const std::string& value) {
  // An empty variable counts as one that is not set.
  for (CLI::Option* option : impl_->app.get_options()) {
    if (value.empty() || option->get_envname() != variable) continue;
    try {
      option->add_result(value);
      option->run_callback();
    } catch (const CLI::Error& error) {
      const std::string message = error.what();
      const std::string prefix = option->get_name() + ": ";
      return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
    }
  }
  return "";
}

std::optional<int> Arguments::parse(std::span<char* const> given) {
  const auto misuse = [&](const std::string& message) {
    complain(impl_->name, message);
    fmt::print(stderr, "corral {} --help lists the options\n", impl_->name);
    return kMisuse;
  };
  for (const std::string& option : impl_->names) {
    if (option == "config" || impl_->flag_only.contains(option) || option_counts(option)) continue;
    fmt::print(stderr,
               "corral {}: config_keys.cpp does not decide if --{} counts from an untrusted file\n",
               impl_->name, option);
    std::abort();
  }
  std::vector<char*> args(given.begin(), given.end());
  const std::size_t length = impl_->split(args);
  const std::span<char* const> flags = std::span(args).first(length);
  auto files = find_config_files(flags);
  if (!files) return misuse(files.error().message);
  for (ConfigFile& file : *files) {
    if (const auto taken = impl_->apply_file(file, flags); !taken)
      return misuse(taken.error().message);
  }
  impl_->config_variable = variable_for(*files);
  std::vector<std::string> reversed(flags.begin(), flags.end());
  std::ranges::reverse(reversed);
  try {
    impl_->app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", impl_->help_text());
    return kDone;
  } catch (const CLI::ExtrasError& error) {
    for (const std::string_view word : flags) {
      const std::string option(word.substr(0, word.find('=')));
      if (!word.starts_with("--") || impl_->app.get_option_no_throw(option) != nullptr) continue;
      const std::string near = meant_option(option.substr(2), impl_->names);
      return misuse(fmt::format("unknown option {}{}", option,
                                near.empty() ? "" : "; did you mean --" + near + "?"));
    }
    return misuse(unexpected_word(impl_->app.remaining(), error.what()));
  } catch (const CLI::Error& error) {
    return misuse(error.what());
  }
  impl_->settle_exclusive(flags);
  impl_->settle_token(flags);
  if (impl_->then) impl_->then();
  hide_passwords(flags);
  if (!impl_->refusal.empty()) {
    complain(impl_->name, impl_->refusal);
    return kFailed;
  }
  for (const std::string& notice : impl_->notices)
    fmt::print(stderr, "corral: {}\n", printable(notice));
  return std::nullopt;
}

bool Arguments::has_option(std::string_view name) const {
  return std::ranges::find(impl_->names, name) != impl_->names.end();
}

}  // namespace corral::cli
