#include "plan/generate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>

#include "core/text.h"
#include "plan/csv.h"
#include "plan/generate_spec.h"
#include "plan/mig.h"
#include "plan/raw_row.h"
#include "plan/shuffle.h"

namespace corral::plan {
namespace {

using Cells = std::map<std::string, std::string, std::less<>>;  // cells of a row: column -> text

// A cell of the matrix: what runs together, and how.
struct Cell {
  const SpecExperiment* experiment = nullptr;
  std::vector<std::size_t> jobs;  // indices in Spec::jobs, one for each run
  std::string mix;
  int copies = 1;
  std::optional<std::size_t> sharing;
  SpecFields chosen;  // one value of each axis, the stronger last
  bool baseline = false;
  int number = 0;  // in its experiment, from 1
};

// Every choice of one value for each field, the first field slowest; none when they are more than a
// plan's rows.
std::vector<SpecFields> choices(const SpecFields& fields) {
  std::size_t count = 1;
  for (const SpecField& field : fields) {
    count *= field.values.size();
    if (count > kMaxGeneratedRows) return {};
  }
  std::vector<SpecFields> all;
  for (std::size_t number = 0; number < count; ++number) {
    SpecFields chosen;
    std::size_t rest = number, span = count;
    for (const SpecField& field : fields) {
      span /= field.values.size();
      chosen.push_back(
          {.key = field.key, .values = {field.values[rest / span]}, .position = field.position});
      rest %= span;
    }
    all.push_back(std::move(chosen));
  }
  return all;
}

class Matrix {
 public:
  Matrix(const Spec& spec, std::vector<Problem>& problems) : spec_(spec), problems_(problems) {}

  // All cells as written; fewer when there was a problem.
  std::vector<Cell> cells() {
    std::vector<Cell> all;
    for (const SpecExperiment& experiment : spec_.experiments) {
      cells_.clear();
      known_.clear();
      add_product(experiment);
      if (experiment.baselines || experiment.slices) add_alone();
      all.insert(all.end(), std::make_move_iterator(cells_.begin()),
                 std::make_move_iterator(cells_.end()));
    }
    return all;
  }

  // A cell's rows; those of block `block` when it is not 0.
  std::vector<Cells> rows(const Cell& cell, int block) {
    std::vector<Cells> rows;
    for (std::size_t i = 0; i < cell.jobs.size(); ++i) {
      Cells row = this->row(cell, i, std::to_string(cell.number));
      if (block > 0) row["Workload"] += fmt::format("#{}", block);
      if (cell.baseline) row["Baseline"] = "yes";
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  void add_product(const SpecExperiment& experiment) {
    const auto all = choices(experiment.fields);
    if (all.empty()) report_size(experiment);
    for (const SpecFields& chosen : all) {
      for (const SpecMix& mix : experiment.mixes) {
        const Cell start{.experiment = &experiment,
                         .jobs = mix.jobs,
                         .mix = mix.name,
                         .copies = 1,
                         .sharing = {},
                         .chosen = chosen,
                         .baseline = false,
                         .number = 0};
        for (const SpecCell& how : experiment.cells) add_mix(start, how);
      }
    }
  }

  // `start`: one copy of a mix, and its experiment's choices.
  void add_mix(const Cell& start, const SpecCell& how) {
    std::vector<std::optional<std::size_t>> ways(how.sharing.begin(), how.sharing.end());
    if (ways.empty()) ways.emplace_back();
    const auto chosen = choices(how.fields);
    if (chosen.empty()) report_size(*start.experiment);
    for (const int copies : how.copies) {
      for (const auto& way : ways) {
        for (const SpecFields& fields : chosen) {
          Cell cell = start;
          cell.copies = copies;
          cell.sharing = way;
          cell.chosen.insert(cell.chosen.end(), fields.begin(), fields.end());
          cell.jobs.clear();
          for (const std::size_t job : start.jobs)
            cell.jobs.insert(cell.jobs.end(), static_cast<std::size_t>(copies), job);
          add(std::move(cell));
        }
      }
    }
  }

  // Adds the baselines of the cells: each job on its MIG instance, alone.
  void add_alone() {
    const std::vector<Cell> together = cells_;
    for (const Cell& cell : together) {
      for (std::size_t i = 0; i < cell.jobs.size(); ++i) {
        Cell alone = cell;
        alone.jobs = {cell.jobs[i]};
        alone.mix = spec_.jobs[cell.jobs[i]].name;
        alone.copies = 1;
        if (cell.experiment->slices && cell.jobs.size() > 1) {
          const Cells asked = row(cell, i, "");
          const auto found = asked.find("Collocation");
          if (found != asked.end() && looks_like_profile(lower_ascii(found->second))) add(alone);
        }
        if (!cell.experiment->baselines) continue;
        alone.sharing = cell.experiment->baselines;
        alone.baseline = true;
        add(std::move(alone));
      }
    }
  }

  void add(Cell cell) {
    if (runs_ > kMaxGeneratedRows) return;
    const auto [place, is_new] = known_.try_emplace(signature(cell), cells_.size());
    if (!is_new) {
      cells_[place->second].baseline |= cell.baseline;
      return;
    }
    cell.number = static_cast<int>(cells_.size()) + 1;
    runs_ += cell.jobs.size() * static_cast<std::size_t>(spec_.repeats);
    if (runs_ > kMaxGeneratedRows) report_size(*cell.experiment);
    cells_.push_back(std::move(cell));
  }

  Cells row(const Cell& cell, std::size_t i, const std::string& workload) {
    const std::string& job = spec_.jobs[cell.jobs[i]].name;
    Cells values{{"n", workload},
                 {"i", std::to_string(i)},
                 {"k", std::to_string(cell.copies)},
                 {"job", cell.mix},
                 {"sharing", cell.sharing ? spec_.sharing[*cell.sharing].name : ""},
                 {"experiment", cell.experiment->name}};
    const SpecField number{
        .key = "Workload", .values = {"{n}"}, .position = cell.experiment->position};
    const SpecField name{
        .key = "Experiment", .values = {"{experiment}"}, .position = cell.experiment->position};
    std::map<std::string_view, const SpecField*> columns{{number.key, &number}, {name.key, &name}};
    for (const SpecFields* layer : layers(cell, i)) {
      for (const SpecField& field : *layer) {
        if (field.is_column())
          columns[field.key] = &field;
        else
          values[field.key] = field.values[0];
      }
    }
    const auto value = [&](std::string_view key) -> std::optional<std::string> {
      const auto found = values.find(key);
      if (found == values.end()) return std::nullopt;
      return found->second;
    };
    Cells cells;
    for (const auto& [column, field] : columns) {
      auto text = fill_template(field->values[0], value);
      if (text)
        cells[std::string(column)] = std::move(*text);
      else
        report_once(*field,
                    fmt::format("job '{}' of experiment '{}' has no value '{}'", job,
                                cell.experiment->name, text.error().message),
                    problems_);
    }
    return cells;
  }

  // Equal for cells whose rows ask for the same.
  std::string signature(const Cell& cell) {
    std::string text;
    for (std::size_t i = 0; i < cell.jobs.size(); ++i) {
      for (const auto& [column, value] : row(cell, i, "")) {
        if (column == "Workload" || column == "Name" || column == "Baseline") continue;
        text += fmt::format("{}\x1f{}\x1e", column, value);
      }
      text += '\x1d';
    }
    return text;
  }

  // Returns the sources of a row's columns and values, the stronger last.
  [[nodiscard]] std::vector<const SpecFields*> layers(const Cell& cell, std::size_t i) const {
    std::vector<const SpecFields*> found{&spec_.row, &spec_.jobs[cell.jobs[i]].fields};
    if (cell.sharing) found.push_back(&spec_.sharing[*cell.sharing].fields);
    found.push_back(&cell.chosen);
    return found;
  }

  void report_size(const SpecExperiment& experiment) {
    runs_ = kMaxGeneratedRows + 1;
    report_once({.key = experiment.name, .values = {}, .position = experiment.position},
                fmt::format("the plan has more than {} runs", kMaxGeneratedRows), problems_);
  }

  const Spec& spec_;
  std::vector<Problem>& problems_;
  std::vector<Cell> cells_;  // cells of the current experiment
  std::map<std::string, std::size_t> known_;
  std::size_t runs_ = 0;
};

// ---- the file

constexpr std::array kAlways = std::to_array<std::string_view>(
    {"Experiment", "Workload", "Status", "Run", "Devices", "Collocation"});

bool holds(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// The columns of the file; a problem where the specification's own do not hold all that is set.
std::vector<std::string> csv_columns(const Spec& spec, const std::vector<Cells>& rows,
                                     std::vector<Problem>& problems) {
  std::set<std::string, std::less<>> set;
  for (const Cells& row : rows)
    for (const auto& [column, text] : row) set.insert(column);
  const auto report = [&](std::string_view column, std::string reason) {
    problems.push_back(
        {.field = "columns", .value = std::string(column), .reason = std::move(reason)});
  };
  if (!set.contains("File") && !set.contains("Model"))
    report("File", "names the command, but is not given");
  if (spec.columns.empty()) {
    std::vector<std::string> used;
    for (const std::string_view column : kColumnNames)
      if (holds(kAlways, column) || set.contains(column)) used.emplace_back(column);
    return used;
  }
  for (const std::string& column : set)
    if (std::ranges::find(spec.columns, column) == spec.columns.end())
      report(column, "is set, and `columns` does not list it");
  return spec.columns;
}

std::string to_csv(const std::vector<std::string>& columns, const std::vector<Cells>& rows) {
  std::string out = join(columns, ",") + "\n";
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) out += ',';
      if (const auto cell = row.find(columns[i]); cell != row.end())
        out += csv_cell(cell->second, ',');
    }
    out += '\n';
  }
  return out;
}

std::string comment(const Generated& plan, const std::string& name, int blocks) {
  std::string source = name;
  std::ranges::replace_if(
      source, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return fmt::format("# From {}: {} runs in {} workloads, {} block{} in random order, seed {}\n",
                     source, plan.runs, plan.workloads, blocks, blocks == 1 ? "" : "s", *plan.seed);
}

// Every block holds each cell once.
std::vector<Cells> in_order(Matrix& matrix, std::vector<Cell> cells, const Spec& spec,
                            std::optional<std::uint64_t> seed) {
  std::vector<Cells> all;
  Shuffler shuffler(seed.value_or(0));
  for (int block = 1; block <= spec.repeats; ++block) {
    if (seed) shuffler.shuffle(cells);
    for (const Cell& cell : cells) {
      auto rows = matrix.rows(cell, spec.repeats > 1 ? block : 0);
      all.insert(all.end(), std::make_move_iterator(rows.begin()),
                 std::make_move_iterator(rows.end()));
    }
  }
  return all;
}

}  // namespace

Generated generate(std::string_view yaml, const GenerateOptions& options) {
  Generated plan;
  const Spec spec = read_spec(yaml, plan.problems);
  if (!plan.problems.empty()) return plan;
  Matrix matrix(spec, plan.problems);
  std::vector<Cell> cells = matrix.cells();
  if (!plan.problems.empty()) return plan;
  if (options.seed)
    plan.seed = options.seed;
  else if (spec.random)
    plan.seed = spec.seed.value_or(options.drawn);
  plan.workloads = cells.size() * static_cast<std::size_t>(spec.repeats);
  const auto rows = in_order(matrix, std::move(cells), spec, plan.seed);
  plan.runs = rows.size();
  const auto columns = csv_columns(spec, rows, plan.problems);
  if (!plan.problems.empty()) return plan;
  if (plan.seed) plan.csv = comment(plan, options.name, spec.repeats);
  plan.csv += to_csv(columns, rows);
  return plan;
}

}  // namespace corral::plan
