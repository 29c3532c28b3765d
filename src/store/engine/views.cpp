#include "store/engine/views.h"

#include <fmt/core.h>

#include <array>
#include <string>
#include <string_view>

namespace corral::store::sql {
namespace {

constexpr std::string_view kSeenExperiment =
    "experiment NOT IN (SELECT id FROM hidden_experiments)";
constexpr std::string_view kOfRun = "EXISTS (SELECT 1 FROM runs r WHERE r.key = t.run)";
constexpr std::string_view kOfLoggedModel =
    "EXISTS (SELECT 1 FROM logged_models m WHERE m.id = t.model)";
constexpr std::string_view kOfTrace = "EXISTS (SELECT 1 FROM traces x WHERE x.id = t.trace)";
constexpr std::string_view kSeenName = "NOT {in_hidden_space}";

// Hidden experiments, which nearly every view asks for: a list that hide() fills, by the index of
// names ('0' is what follows '/'). A view of them would be read in each statement.
constexpr std::string_view kList =
    "CREATE TEMP TABLE hidden_experiments (id INTEGER PRIMARY KEY, artifact_location TEXT);"
    " CREATE TEMP TRIGGER nothing_hidden AFTER DELETE ON hidden_spaces BEGIN"
    " DELETE FROM hidden_experiments; END;"
    " CREATE TEMP TRIGGER space_hidden AFTER INSERT ON hidden_spaces BEGIN"
    " INSERT INTO hidden_experiments SELECT id, artifact_location FROM main.experiments"
    " WHERE name >= new.name || '/' AND name < new.name || '0'; END;";
constexpr std::string_view kNoList =
    "CREATE TEMP VIEW hidden_experiments AS SELECT id, artifact_location FROM experiments t WHERE "
    "{};";

// A table, and the rows `t` of it that are shown. A view may use those above it.
struct View {
  std::string_view table, rows;
  std::string_view name = "";  // column of the name that may lie in a space
  char separator = '/';        // between the space and the rest of the name
};
constexpr std::array kViews = {
    View{"experiments", kSeenName, "t.name"},
    View{"runs", kSeenExperiment},
    // A run may have left the experiment of its workload.
    View{"workloads",
         "experiment NOT IN (SELECT id FROM hidden_experiments) OR EXISTS (SELECT 1 FROM runs r "
         "WHERE r.workload = t.key)"},
    View{"facts", kOfRun},
    View{"phases", kOfRun},
    View{"events", kOfRun},
    View{"logs", kOfRun},
    View{"log_streams", kOfRun},
    View{"members", kOfRun},
    View{"notes", kOfRun},
    // Those of hosts belong to nobody.
    View{"series",
         "CASE owner_kind WHEN 0 THEN EXISTS (SELECT 1 FROM runs r WHERE r.key = t.owner) WHEN 1 "
         "THEN EXISTS (SELECT 1 FROM workloads w WHERE w.key = t.owner) AND NOT EXISTS (SELECT 1 "
         "FROM "
         "hidden_runs h WHERE h.workload = t.owner) ELSE 1 = 1 END"},
    View{"experiment_tags", kSeenExperiment},
    View{"datasets", kSeenExperiment},
    View{"run_inputs", kOfRun},
    View{"run_models", kOfRun},
    View{"logged_models", kSeenExperiment},
    View{"logged_model_facts", kOfLoggedModel},
    View{"logged_model_metrics", kOfLoggedModel},
    View{"traces", kSeenExperiment},
    View{"trace_facts", kOfTrace},
    View{"spans", kOfTrace},
    View{"registered_models", kSeenName, "t.name", '.'},
    View{"registered_model_tags", kSeenName, "t.model", '.'},
    View{"registered_model_aliases", kSeenName, "t.model", '.'},
    View{"model_versions", kSeenName, "t.model", '.'},
    View{"model_version_tags", kSeenName, "t.model", '.'},
    View{"boards", kSeenName, "t.name"},
};

constexpr std::array kTables = [] {
  std::array<std::string_view, kViews.size()> tables;
  for (std::size_t i = 0; i < tables.size(); ++i) tables[i] = kViews[i].table;
  return tables;
}();

}  // namespace

std::span<const std::string_view> tables_behind_views() { return kTables; }

Result<> put_views_before_tables(Connection& db) {
  const auto hidden = [&](std::string_view name, char separator) {
    return fmt::format(fmt::runtime(db.dialect().in_hidden_space), name, separator);
  };
  std::string script = fmt::format(
      "{3} CREATE TEMP VIEW hidden_runs AS SELECT * FROM {0}runs WHERE {2};"
      " CREATE TEMP VIEW whole_workloads AS SELECT * FROM {0}workloads;"
      " CREATE TEMP VIEW whole_facts AS SELECT * FROM {0}facts;"
      " CREATE TEMP VIEW hidden_facts AS SELECT * FROM {0}facts f WHERE (key IN "
      "('corral.devices', 'corral.cpus', 'corral.plan') OR key > 'device.' AND key < 'device/') "
      "AND EXISTS (SELECT 1 FROM hidden_runs r WHERE r.key = f.run);"
      " CREATE TEMP VIEW hidden_ids AS SELECT id FROM hidden_runs"
      " UNION ALL SELECT id FROM {0}workloads w WHERE {2} AND NOT EXISTS (SELECT 1 FROM {0}runs r "
      "WHERE r.workload = w.key AND r.experiment NOT IN (SELECT id FROM hidden_experiments))"
      " UNION ALL SELECT id FROM {0}sessions WHERE run IN (SELECT key FROM hidden_runs);"
      " CREATE TEMP VIEW hidden_names AS SELECT id FROM {0}logged_models WHERE {2}"
      " UNION ALL SELECT id FROM {0}traces WHERE {2};",
      db.dialect().own, hidden("t.name", '/'), "experiment IN (SELECT id FROM hidden_experiments)",
      db.dialect().lists_hidden ? std::string(kList)
                                : fmt::format(fmt::runtime(kNoList), hidden("t.name", '/')));
  for (const View& view : kViews) {
    const std::string rows =
        view.name.empty()
            ? std::string(view.rows)
            : fmt::format(fmt::runtime(view.rows),
                          fmt::arg("in_hidden_space", hidden(view.name, view.separator)));
    script += fmt::format(" CREATE TEMP VIEW {0} AS SELECT * FROM {1}{0} t WHERE {2};", view.table,
                          db.dialect().own, rows);
  }
  return db.make_ready(script);
}

std::string_view whole_facts(const Connection& db) {
  return db.was_made_ready() ? "whole_facts" : "facts";
}

}  // namespace corral::store::sql
