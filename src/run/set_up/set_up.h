// Set-up: what a run would have to be given again to come out the same, beside its command, params
// and hardware: the code as it was changed, the interpreter with its packages, variables, and what
// of the host makes measurements differ (docs/reproducibility.md).
//
// Called beside the run on a thread of its own, at idle priority where other programs are asked.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/frame.h"

namespace corral::run::set_up {

struct Subject {
  std::string interpreter;  // of a .py file; empty: none
  // What the environment that was prepared for the run has said of itself: a list of packages is
  // not made again, and all of it belongs to the hash.
  std::vector<std::pair<std::string, std::string>> prepared = {};
  std::vector<std::string> command = {};  // for the data that it was given by path
  std::filesystem::path root = "/";       // of /proc and /sys
  std::filesystem::path directory = "";   // where the run works; empty: this one
  bool mask = true;                       // secrets (secrets.h)
  // Of the code that was kept (kept_code.h): its facts, changed files whose content is not
  // recorded, and who takes the diff, masked and whole, or the reason why there is none.
  std::vector<codec::Fact> code = {};
  std::vector<std::string> refused = {};
  std::function<void(std::string_view)> take_diff = nullptr;
  std::function<void(const std::string&)> refuse_diff = nullptr;
};

std::vector<codec::Fact> facts(const Subject& subject);

// `facts` as facts() gave them, with newer ones of the code and their hash: only what has changed.
std::vector<codec::Fact> facts_of_code(std::vector<codec::Fact> facts, const Subject& subject);

// 16 hex digits of all facts that describe a set-up (settings, not how things stood), in any order.
std::string hash_of(const std::vector<codec::Fact>& facts);

}  // namespace corral::run::set_up
