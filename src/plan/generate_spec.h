// A matrix of training runs, as a person writes it (docs/plan-generate.md): YAML -> Spec.
//
// Keys that begin with a capital are columns of the plan and hold templates ("--model {model}"),
// the others are values for the templates. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "plan/plan.h"

namespace corral::plan {

// Position in the specification, 1-based.
struct Position {
  int line = 0;
  int column = 0;
};

// A column or a value. Several values are an axis of the matrix.
struct SpecField {
  std::string key;
  std::vector<std::string> values;
  Position position;
  [[nodiscard]] bool is_column() const { return key[0] >= 'A' && key[0] <= 'Z'; }
};
using SpecFields = std::vector<SpecField>;

// A training (`jobs`) or a way of sharing (`sharing`).
struct SpecPart {
  std::string name;
  SpecFields fields;
  Position position;
};

// Jobs that run together: "2S+M" is two of job S and one of M.
struct SpecMix {
  std::string name;
  std::vector<std::size_t> jobs;  // indices in Spec::jobs, one for each run
};

struct SpecCell {
  std::vector<int> copies{1};        // `k`: how many of the mix run together
  std::vector<std::size_t> sharing;  // indices in Spec::sharing
  SpecFields fields;
};

struct SpecExperiment {
  std::string name;
  std::vector<SpecMix> mixes;
  std::vector<SpecCell> cells;
  SpecFields fields;
  std::optional<std::size_t> baselines;  // index in Spec::sharing: each job alone, too
  bool slices = false;                   // each MIG instance's job alone on such an instance, too
  Position position;
};

struct Spec {
  std::vector<std::string> columns;  // empty: those that are used
  bool random = false;               // blocks in random order
  std::optional<std::uint64_t> seed;
  int repeats = 1;
  SpecFields row;  // fields of every row
  std::vector<SpecPart> jobs;
  std::vector<SpecPart> sharing;
  std::vector<SpecExperiment> experiments;
};

// Adds a problem of this field, unless it is there already.
void report_once(const SpecField& field, std::string reason, std::vector<Problem>& problems,
                 std::string advice = "");

// Adds all problems to `problems`; the Spec is usable only if there are none.
Spec read_spec(std::string_view yaml, std::vector<Problem>& problems);

// ---- templates: text with {name} where a value stands; {{ and }} are the brackets themselves

// Replaces the names. kInvalidArgument describes a fault of the template; kNotFound: the message is
// the first name that `value` does not have.
using ValueOf = std::function<std::optional<std::string>(std::string_view name)>;
Result<std::string> fill_template(std::string_view text, const ValueOf& value);

}  // namespace corral::plan
