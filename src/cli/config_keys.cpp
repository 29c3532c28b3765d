#include "cli/config_keys.h"

#include <algorithm>
#include <array>

namespace corral::cli {
namespace {

struct Name {
  std::string_view name;
  Counts counts;
};

constexpr Counts kAlways = Counts::kAlways;
constexpr Counts kTrusted = Counts::kWhenTrusted;

constexpr auto kOptions = std::to_array<Name>({
    // Destination of data, and its token.
    {"store", kTrusted},
    {"server", kTrusted},
    {"token-file", kTrusted},
    {"spool", kTrusted},
    {"spool-limit", kTrusted},
    {"capture-mlflow", kTrusted},
    {"dcgm-address", kTrusted},
    // Programs that are executed, and processes that are looked into.
    {"environment", kTrusted},
    {"profile", kTrusted},
    {"listeners", kTrusted},  // radT's names of profilers are among them
    {"notify", kTrusted},
    {"watch", kTrusted},
    {"peers", kTrusted},
    {"peer-python", kTrusted},
    // The end of a training.
    {"max-time", kTrusted},
    {"max-epochs", kTrusted},
    {"max-steps", kTrusted},
    {"grace", kTrusted},
    {"leftovers", kTrusted},
    // Files and addresses of a server, and the runs that it removes.
    {"listen", kTrusted},
    {"insecure", kTrusted},
    {"allow-host", kTrusted},
    {"access-log", kTrusted},
    {"artifacts", kTrusted},
    {"artifacts-from", kTrusted},
    {"copy-artifacts", kTrusted},
    {"read-store", kTrusted},
    {"durability", kTrusted},
    {"idle-exit", kTrusted},
    {"idle-after", kTrusted},
    {"keep-days", kTrusted},
    {"keep-bytes", kTrusted},
    {"max-memory", kTrusted},
    {"older-than", kTrusted},
    {"stop", kTrusted},
    // Questions answered beforehand, and files that are written.
    {"yes", kTrusted},
    {"force", kTrusted},
    {"dry-run", kTrusted},
    {"anew", kTrusted},
    // Secrets that are recorded.
    {"no-mask", kTrusted},
    {"output", kTrusted},
    {"out", kTrusted},
    // Names of a run, and how closely it is watched.
    {"experiment", kAlways},
    {"workload", kAlways},
    {"name", kAlways},
    {"param", kAlways},
    {"tag", kAlways},
    {"no-listeners", kAlways},
    {"interval", kAlways},
    {"no-mlflow", kAlways},
    {"no-capture", kAlways},
    {"hash-data", kAlways},
    {"keep-code", kAlways},
    {"no-pty", kAlways},
    {"quiet", kAlways},
    {"cool-down", kAlways},
    {"quiet-check", kAlways},
    {"no-devices", kAlways},
    // Measuring by a benchmark.
    {"planted", kAlways},
    {"pairs", kAlways},
    {"margin", kAlways},
    {"seed", kAlways},
    {"training", kAlways},
    {"seconds", kAlways},
    // Output.
    {"format", kAlways},
    {"json", kAlways},
    {"limit", kAlways},
    {"metric", kAlways},
    {"part", kAlways},
    {"runs", kAlways},
    {"check-trace", kAlways},
    {"steps", kAlways},
    {"tool", kAlways},
    {"wait", kAlways},
});

constexpr auto kSources = std::to_array<Name>({{"exec", kTrusted},
                                               {"prometheus", kTrusted},
                                               {"statsd", kTrusted},
                                               {"otlp", kTrusted},
                                               {"regex", kAlways},
                                               {"pressure", kAlways}});

constexpr auto kCommands = std::to_array<std::string_view>(
    {"run", "serve", "ls", "show", "export", "import", "plan", "diff", "undo", "profile", "rm",
     "store", "doctor", "bench", "trust"});

template <class Table>
std::optional<Counts> counts_in(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Name::name);
  return found == table.end() ? std::nullopt : std::optional(found->counts);
}

template <class Table>
std::vector<std::string_view> names_in(const Table& table) {
  std::vector<std::string_view> names(table.size());
  std::ranges::transform(table, names.begin(), &Name::name);
  return names;
}

}  // namespace

std::optional<Counts> option_counts(std::string_view option) { return counts_in(kOptions, option); }
std::optional<Counts> source_counts(std::string_view kind) { return counts_in(kSources, kind); }
bool is_command_section(std::string_view section) {
  return std::ranges::find(kCommands, section) != kCommands.end();
}

std::vector<std::string_view> option_names() { return names_in(kOptions); }
std::vector<std::string_view> source_kinds() { return names_in(kSources); }
std::vector<std::string_view> section_names() {
  std::vector<std::string_view> names = source_kinds();
  names.insert(names.begin(), kCommands.begin(), kCommands.end());
  return names;
}

}  // namespace corral::cli
