#include "cli/arguments.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "cli/command.h"
#include "cli/config_syntax.h"
#include "cli/source_sections.h"
#include "core/result.h"
#include "core/text.h"
#include "sys/file.h"
#include "sys/store_paths.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

std::string variable_of(std::string_view option) {
  std::string name = "CORRAL_" + std::string(option);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return name;
}

// --config, $CORRAL_CONFIG, ./corral.toml, $XDG_CONFIG_HOME/corral/corral.toml; empty when there is
// none.
fs::path config_file(std::span<char* const> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view word = args[i];
    if (word == "--config" && i + 1 < args.size()) return args[i + 1];
    if (word.starts_with("--config=")) return word.substr(9);
  }
  if (const char* chosen = std::getenv("CORRAL_CONFIG"); chosen != nullptr && *chosen != '\0')
    return chosen;
  std::error_code error;
  if (fs::exists("corral.toml", error)) return "corral.toml";
  const char* base = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  fs::path file = base != nullptr && *base == '/' ? fs::path(base)
                  : home != nullptr               ? fs::path(home) / ".config"
                                                  : fs::path();
  if (file.empty()) return {};
  file = file / "corral" / "corral.toml";
  return fs::exists(file, error) ? file : fs::path();
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t least = 3;
  for (const std::string& name : known) {
    const std::size_t edits = edit_distance(word, name);
    if (edits < least) {
      least = edits;
      best = name;
    }
  }
  return best;
}

// Process listings show what stands here.
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
  std::vector<std::string> names;                          // of options, without dashes
  std::map<std::string, std::vector<std::string>*> lists;  // of them those that may be repeated
  std::map<std::string, std::string*> texts;
  std::vector<std::pair<std::string, std::string>> exclusive;
  std::set<std::string> in_file, flag_only;
  std::vector<std::string>* rest = nullptr;
  std::string rest_name;
  std::string config;
  fs::path read;  // the file that counted

  CLI::Option* named(const std::string& option, CLI::Option* added) {
    names.push_back(option);
    return added->envname(variable_of(option));
  }

  // Lines of the file become defaults, which environment and flags override.
  std::optional<std::string> apply(const fs::path& file) {
    const auto text = sys::read_file(file);
    if (!text) return fmt::format("{}: cannot be read", file.string());
    read = file;
    std::istringstream in(without_sources(*text));
    if (const auto wrong = config_error(in)) return fmt::format("{}:{}", file.string(), *wrong);
    in.clear();
    in.seekg(0);
    std::vector<CLI::ConfigItem> items;
    try {
      items = CLI::ConfigTOML().from_config(in);
    } catch (const CLI::Error& error) {
      return fmt::format("{}: {}", file.string(), error.what());
    }
    for (const CLI::ConfigItem& item : items) {
      if (item.name == "++" || item.name == "--" || item.inputs.empty()) continue;
      const bool mine = item.parents.empty() || item.parents[0] == name;
      if (!mine) continue;
      const bool known = std::ranges::find(names, item.name) != names.end();
      if (!known && item.parents.empty()) continue;  // of another subcommand
      if (!known) {
        const std::string near = nearest(item.name, names);
        return fmt::format("{}: [{}] has no option '{}'{}", file.string(), name, item.name,
                           near.empty() ? "" : "; did you mean '" + near + "'?");
      }
      if (flag_only.contains(item.name)) continue;
      in_file.insert(item.name);
      if (const auto list = lists.find(item.name); list != lists.end()) {
        *list->second = item.inputs;  // flags and environment replace it whole
        continue;
      }
      try {
        CLI::Option* option = app.get_option("--" + item.name);
        option->run_callback_for_default()->default_val(CLI::detail::join(item.inputs, ","));
      } catch (const CLI::Error& error) {
        return fmt::format("{}: {} = {}: {}", file.string(), item.name, item.inputs[0],
                           error.what());
      }
    }
    return std::nullopt;
  }

  // How strongly an option was given: 3 flag, 2 environment, 1 file, 0 not at all.
  int strength(const std::string& option, std::span<char* const> flags) {
    const std::string flag = "--" + option;
    const auto is_it = [&](std::string_view word) {
      return word == flag || word.starts_with(flag + "=");
    };
    if (std::ranges::any_of(flags, is_it)) return 3;
    const char* variable = std::getenv(variable_of(option).c_str());
    return variable != nullptr && *variable != '\0' ? 2 : in_file.contains(option) ? 1 : 0;
  }

  void settle_exclusive(std::span<char* const> flags) {
    for (const auto& [a, b] : exclusive) {
      const int difference = strength(a, flags) - strength(b, flags);
      if (difference != 0) texts.at(difference > 0 ? b : a)->clear();
    }
  }

  // The first word that is neither an option nor an option's value starts what is passed on
  // untouched.
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
};

Arguments::Arguments(const std::string& name, const std::string& about, const std::string& examples)
    : impl_(std::make_unique<Impl>()) {
  impl_->name = name;
  impl_->app.name("corral " + name);
  impl_->app.description(about);
  impl_->app.footer("\nExamples:\n" + examples);
  impl_->app.get_formatter()->column_width(34);
  impl_->app.add_option("--config", impl_->config,
                        "configuration file (else ./corral.toml, ~/.config/corral/corral.toml)");
  impl_->names.emplace_back("config");
}
Arguments::~Arguments() = default;

void Arguments::text(const std::string& name, std::string& value, const std::string& help) {
  impl_->texts[name] = &value;
  impl_->named(name, impl_->app.add_option("--" + name, value, help));
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
  impl_->named(name, impl_->app.add_flag("--" + name, value, help));
}
void Arguments::choice(const std::string& name, std::string& value,
                       std::vector<std::string> choices, const std::string& help) {
  impl_->named(
      name,
      impl_->app.add_option("--" + name, value, help)->check(CLI::IsMember(std::move(choices))));
}
void Arguments::texts(const std::string& name, std::vector<std::string>& values,
                      const std::string& help) {
  impl_->named(name, impl_->app.add_option("--" + name, values, help)->expected(1)->take_all());
  impl_->lists[name] = &values;
}
void Arguments::duration(const std::string& name, Nanos& value, const std::string& help) {
  const auto take = [&value, option = "--" + name](const std::string& text) {
    value = parse_duration(text);
    if (value == kNoDuration)
      throw CLI::ValidationError(option, "'" + text + "' is no duration: 100ms, 2s, 1.5m, 3h, 1d");
  };
  impl_->named(
      name,
      impl_->app.add_option_function<std::string>("--" + name, take, help)->type_name("DURATION"));
}
void Arguments::bytes(const std::string& name, std::int64_t& value, const std::string& help) {
  const auto take = [&value, option = "--" + name](const std::string& text) {
    const auto parsed = parse_bytes(text);
    if (!parsed)
      throw CLI::ValidationError(option, "'" + text + "' is no size: 512MiB, 2GiB, 1000");
    value = *parsed;
  };
  impl_->named(
      name,
      impl_->app.add_option_function<std::string>("--" + name, take, help)->type_name("SIZE"));
}
void Arguments::positional(const std::string& name, std::string& value, const std::string& help,
                           bool required) {
  impl_->app.add_option(name, value, help)->required(required);
}
void Arguments::positionals(const std::string& name, std::vector<std::string>& values,
                            const std::string& help, bool required) {
  impl_->app.add_option(name, values, help)->required(required);
}
void Arguments::rest(const std::string& name, std::vector<std::string>& values) {
  impl_->rest = &values;
  impl_->rest_name = name;
}

void Arguments::exclusive(const std::string& a, const std::string& b) {
  impl_->exclusive.emplace_back(a, b);
}

void Arguments::as_flag_only(const std::string& name) {
  impl_->flag_only.insert(name);
  impl_->app.get_option("--" + name)->envname("");
}

void Arguments::hidden(const std::string& name) {
  as_flag_only(name);
  impl_->app.get_option("--" + name)->group("");
  std::erase(impl_->names, name);
}

std::filesystem::path Arguments::config_path() const { return impl_->read; }

std::optional<int> Arguments::parse(std::span<char* const> args) {
  const auto misuse = [&](const std::string& message) {
    fmt::print(stderr, "corral {}: {}\ncorral {} --help lists the options\n", impl_->name, message,
               impl_->name);
    return kMisuse;
  };
  const std::size_t length = impl_->rest != nullptr ? impl_->prefix_length(args) : args.size();
  for (std::size_t i = length; i < args.size(); ++i) {
    if (i > length || std::string_view(args[i]) != "--") impl_->rest->emplace_back(args[i]);
  }
  const fs::path file = config_file(args.first(length));
  if (!file.empty()) {
    if (const auto wrong = impl_->apply(file)) return misuse(*wrong);
  }
  std::vector<std::string> reversed(args.begin(),
                                    args.begin() + static_cast<std::ptrdiff_t>(length));
  std::ranges::reverse(reversed);
  try {
    impl_->app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::string help = impl_->app.help();
    const std::size_t usage = help.find(" [OPTIONS]");
    if (usage != std::string::npos && !impl_->rest_name.empty())
      help.insert(usage + 10, " " + impl_->rest_name);
    fmt::print("{}", help);
    return kDone;
  } catch (const CLI::ExtrasError& error) {
    for (std::size_t i = 0; i < length; ++i) {
      const std::string_view word = args[i];
      const std::string option(word.substr(0, word.find('=')));
      if (!word.starts_with("--") || impl_->app.get_option_no_throw(option) != nullptr) continue;
      const std::string near = nearest(option.substr(2), impl_->names);
      return misuse(fmt::format("unknown option {}{}", option,
                                near.empty() ? "" : "; did you mean --" + near + "?"));
    }
    return misuse(error.what());
  } catch (const CLI::Error& error) {
    return misuse(error.what());
  }
  impl_->settle_exclusive(args.first(length));
  hide_passwords(args.first(length));
  return std::nullopt;
}

}  // namespace corral::cli
