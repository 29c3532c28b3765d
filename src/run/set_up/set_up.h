// Set-up: everything that a run needs again to give the same result, besides its command, params
// and hardware: the code with its changes, the interpreter with its packages, variables, and
// properties of the host that affect measurements (docs/reproducibility.md).
//
// Called during the run on a thread of its own; other programs run at idle priority.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "run/set_up/secrets.h"

namespace corral::run::set_up {

struct Subject {
  std::string interpreter;  // interpreter of a .py file; empty: none
  // Facts of the environment that was prepared for the run: its list of packages is not made again,
  // and all of them belong to the hash.
  std::vector<std::pair<std::string, std::string>> prepared = {};
  std::vector<std::string> command = {};  // names the data that the run was given by path
  std::filesystem::path root = "/";       // folder of /proc and /sys
  std::filesystem::path directory = "";   // folder of the run; empty: this one
  bool mask = true;                       // masks secrets (secrets.h)
  std::string cpus = {};                  // that the command has for itself; empty: as this process
  // The kept code (kept_code.h): its facts, changed files whose content is not recorded, and two
  // functions: one takes the whole masked diff, the other the reason why there is none.
  std::vector<codec::Fact> code = {};
  std::vector<std::string> refused = {};
  std::function<void(std::string_view)> add_diff = nullptr;
  std::function<void(const std::string&)> refuse_diff = nullptr;
};

std::vector<codec::Fact> facts(const Subject& subject);

// Returns those of `facts` (from facts()) that differ, after newer facts of the code and their
// hash.
std::vector<codec::Fact> changed_code_facts(std::vector<codec::Fact> facts, const Subject& subject);

// Returns 16 hex digits of all facts that describe a set-up (settings, not states), in any order.
std::string set_up_hash(const std::vector<codec::Fact>& facts);

// True for an environment variable of a framework or launcher that affects a training. A variable
// whose name hints at a secret is never recorded.
bool is_recorded(std::string_view variable);

// Returns the recorded ones of the entries "NAME=value", one in each line, in order of their names;
// secrets within a value are masked, long values are cut.
std::string recorded_variables(const std::vector<std::string>& environment, Mask& mask);

}  // namespace corral::run::set_up
