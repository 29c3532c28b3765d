// --dry-run: prints the steps of a scheduler, in order, on standard output. Changes nothing.
#pragma once

#include "run/schedule/plan_journal.h"
#include "run/schedule/scheduler.h"

namespace corral::run::schedule {

int dry_run(const ScheduleOptions& options, const ScheduleParts& parts, const Book& book,
            const plan::Plan& plan);

// Returns the words quoted for a shell.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace corral::run::schedule
