#include "cli/bench_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "cli/bench_peers.h"
#include "cli/bench_training.h"
#include "cli/destination.h"
#include "collect/listener.h"
#include "collect/selection.h"
#include "core/text.h"
#include "sys/process.h"

namespace corral::cli {
namespace {

using Kind = Setting::Kind;

Setting corral(std::string name, std::string about, std::vector<std::string> words) {
  return {.kind = Kind::kCorral,
          .name = std::move(name),
          .about = std::move(about),
          .words = std::move(words)};
}

Setting default_setting() {
  return corral("default", "corral run: every listener at 10 Hz, capture, output", {});
}

Setting with_listeners(const std::string& names) {
  return corral(names, "corral run --no-capture --listeners " + names + ", 10 Hz",
                {"--no-capture", "--listeners", names});
}

const std::vector<Setting>& fixed_settings() {
  static const std::vector<Setting> all = {
      {.kind = Kind::kOff, .name = "off", .about = "nothing, twice"},
      corral("none", "corral run --no-listeners --no-capture: only the recorder",
             {"--no-listeners", "--no-capture"}),
      corral("capture", "corral run --no-listeners: the training's phases", {"--no-listeners"}),
      default_setting(),
  };
  return all;
}

void add_once(std::vector<Setting>& settings, Setting one) {
  if (std::ranges::find(settings, one.name, &Setting::name) == settings.end())
    settings.push_back(std::move(one));
}

// Whatever measures nothing here would cost nothing, but say so as if it did.
void add_each(std::vector<Setting>& settings) {
  for (const Setting& fixed : fixed_settings()) add_once(settings, fixed);
  for (const auto& entry : collect::listeners())
    add_once(settings, with_listeners(std::string(entry.name)));
}

std::string why_missing(const Peer& peer, const std::string& python) {
  const char* path = std::getenv("PATH");
  if (peer.modules.empty()) {
    const std::string program(peer.program);
    const auto found = sys::find_in_path(program, path != nullptr ? path : "/usr/bin:/bin");
    return found ? "" : fmt::format("{} is not installed", peer.program);
  }
  const auto there = can_import(python, std::string(peer.modules));
  return there ? "" : there.error().message;
}

Setting setting_of(const Peer& peer, const std::string& python) {
  Setting out{.kind = peer.around ? Kind::kAround : Kind::kBeside,
              .name = std::string(peer.name),
              .about = std::string(peer.about)};
  out.missing = why_missing(peer, python);
  if (peer.script.empty()) {
    for (const std::string_view word : split(peer.words, ' ')) out.words.emplace_back(word);
  } else if (peer.modules.empty()) {
    out.words = {"/bin/sh", "-c", std::string(peer.script)};
  } else {
    out.words = {python, "-c", std::string(peer.script)};
  }
  return out;
}

}  // namespace

Result<std::vector<Setting>> settings_of(std::string_view words) {
  std::vector<Setting> settings;
  for (const std::string_view part : split(words, ',')) {
    const std::string_view word = trim(part);
    if (word.empty() || word == "each") {
      if (word == "each") add_each(settings);
      continue;
    }
    const auto fixed = std::ranges::find(fixed_settings(), word, &Setting::name);
    if (fixed != fixed_settings().end()) {
      add_once(settings, *fixed);
    } else {
      const auto names = TRY(collect::select_listeners(word));
      add_once(settings, with_listeners(join(names, "+")));
    }
  }
  return settings;
}

Result<std::vector<Setting>> peers_of(std::string_view words, const std::string& python) {
  std::vector<Setting> settings;
  for (const std::string_view part : split(words, ',')) {
    const std::string_view word = trim(part);
    if (word.empty() || word == "none") continue;
    bool found = false;
    for (const Peer& peer : peers()) {
      if (word != "all" && word != peer.name) continue;
      found = true;
      add_once(settings, setting_of(peer, python));
    }
    if (!found)
      return fail(Code::kInvalidArgument, fmt::format("--peers: '{}' is none of all, none, {}",
                                                      word, join(peer_names(), ", ")));
  }
  return settings;
}

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (const Peer& peer : peers()) names.emplace_back(peer.name);
  return names;
}

Setting planted_burner(double share) {
  return {.kind = Kind::kPlanted,
          .name = fmt::format("planted {:g} %", share * 100),
          .about = "a burner of so much of the training's processor, which both are bound to",
          .words = {program_path().string(), "bench", "burn", fmt::format("{:.6f}", share)},
          .planted = share};
}

}  // namespace corral::cli
