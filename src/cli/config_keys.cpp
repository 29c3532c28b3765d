#include "cli/config_keys.h"

#include <algorithm>
#include <array>

namespace corral::cli {
namespace {

constexpr auto kTrustedOptions = std::to_array<std::string_view>(
    {// Destination of data, and its token.
     "store", "server", "token-file", "ca-file", "spool", "spool-limit", "capture-mlflow",
     "dcgm-address",
     // Programs that are executed, and processes that are looked into. Listeners have radT's names
     // of profilers among them.
     "environment", "profile", "listeners", "notify", "watch", "peers", "peer-python",
     "tensorboard",
     // The end of a training.
     "max-time", "max-epochs", "max-steps", "grace", "leftovers",
     // Files and addresses of a server, and the runs that it removes.
     "listen", "oidc-issuer", "oidc-client", "oidc-secret-file", "oidc-role", "oidc-groups",
     "oidc-domain", "tls-cert", "tls-key", "redirect-http", "behind-proxy", "insecure",
     "allow-host", "access-log", "audit-log", "alert-url", "alert-network", "mail-domain",
     "mail-server", "mail-from", "mail-user", "mail-password-file", "artifacts", "artifacts-from",
     "copy-artifacts", "read-store", "durability", "idle-exit", "idle-after", "keep-days",
     "keep-bytes", "max-memory", "older-than", "stop",
     // Questions answered beforehand, and files that are written.
     "yes", "force", "dry-run", "anew",
     // Secrets that are recorded.
     "no-mask", "output", "out"});
constexpr auto kHarmlessOptions = std::to_array<std::string_view>(
    {// Names of a run, and how closely it is watched.
     "experiment", "workload", "name", "param", "tag", "no-listeners", "interval", "no-mlflow",
     "no-capture", "hash-data", "keep-code", "no-pty", "quiet", "cool-down", "quiet-check",
     "no-devices",
     // Measuring by a benchmark.
     "planted", "pairs", "margin", "seed", "training", "seconds",
     // Output.
     "format", "limit", "metric", "part", "runs", "check-trace", "steps", "tool", "wait"});

constexpr auto kTrustedSources =
    std::to_array<std::string_view>({"exec", "prometheus", "statsd", "otlp"});
constexpr auto kHarmlessSources =
    std::to_array<std::string_view>({"regex", "pressure", "footprint"});

constexpr auto kCommands = std::to_array<std::string_view>(
    {"run",    "serve",   "demo",        "ls",      "show",    "logs",   "open",
     "watch",  "explain", "collocation", "compare", "history", "report", "plot",
     "export", "import",  "plan",        "diff",    "rerun",   "undo",   "profile",
     "rename", "tag",     "archive",     "rm",      "restore", "store",  "alert",
     "user",   "space",   "team",        "token",   "login",   "logout", "whoami",
     "audit",  "doctor",  "spool",       "trust",   "bench",   "help"});

bool contains(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string_view> both(const auto& first, const auto& second) {
  std::vector<std::string_view> names(first.begin(), first.end());
  names.insert(names.end(), second.begin(), second.end());
  return names;
}

}  // namespace

std::optional<Counts> option_counts(std::string_view option) {
  if (contains(kTrustedOptions, option)) return Counts::kWhenTrusted;
  return contains(kHarmlessOptions, option) ? std::optional(Counts::kAlways) : std::nullopt;
}
std::optional<Counts> source_counts(std::string_view kind) {
  if (contains(kTrustedSources, kind)) return Counts::kWhenTrusted;
  return contains(kHarmlessSources, kind) ? std::optional(Counts::kAlways) : std::nullopt;
}
bool is_command_section(std::string_view section) { return contains(kCommands, section); }

std::vector<std::string_view> option_names() { return both(kTrustedOptions, kHarmlessOptions); }
std::vector<std::string_view> source_kinds() { return both(kTrustedSources, kHarmlessSources); }
std::vector<std::string_view> section_names() { return both(kCommands, source_kinds()); }

}  // namespace corral::cli
