// PlanDocument: a plan and the state of its runs, for the server and the page (docs/api.md). Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/time.h"
#include "plan/plan.h"
#include "run/schedule/choose.h"
#include "run/schedule/member.h"

namespace corral::run::schedule {

struct RunEntry {
  std::string key;
  int line = 0;
  std::string experiment;
  std::string workload;
  int repetition = 1;
  std::string name;
  std::string letter;
  std::string collocation;
  std::string devices;
  std::string model;
  std::string state = "waiting";  // waiting, preparing, running or an outcome
  std::string run{};
  std::string reason{};
  std::vector<std::string> tail{};
};

class PlanDocument {
 public:
  PlanDocument(std::string file, std::string host)
      : file_(std::move(file)), host_(std::move(host)) {}

  // Replaces all runs after the file was read; `choices` give the reasons why some will not run.
  void fill(const std::vector<plan::Workload>& workloads, const Book& book,
            const std::vector<Choice>& choices);
  void update(const Member& member);
  void set_state(std::string state) { state_ = std::move(state); }
  void set_message(std::string message) { message_ = std::move(message); }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::vector<RunEntry>& runs() const { return runs_; }
  [[nodiscard]] std::string json(UtcTime now) const;

  struct Counts {
    int waiting = 0;  // includes interrupted runs, which start again by themselves
    int running = 0;
    int finished = 0;
    int failed = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  std::string file_;
  std::string host_;
  std::string state_ = "running";
  std::string message_;
  std::vector<RunEntry> runs_;
  std::map<std::pair<std::string, int>, std::size_t> places_;
};

}  // namespace corral::run::schedule
