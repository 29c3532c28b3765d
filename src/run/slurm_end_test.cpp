#include "run/slurm_end.h"

#include <gtest/gtest.h>

#include <map>

namespace corral::run {
namespace {

// As Slurm 22.05 says it while it ends a job; most members are left out.
std::string said(const std::string& state, const std::string& reason, const std::string& rest) {
  return "JobId=7 JobName=train UserId=ada(1000) Priority=4294901759 JobState=" + state +
         " Reason=" + reason + " Dependency=(null) Requeue=1 " + rest +
         " BatchFlag=1 Reboot=0 ExitCode=0:15 RunTime=00:01:00";
}

std::string outcome(const std::string& text, std::int64_t restarts = 0) {
  const auto end = parse_slurm_end(text, {.id = "7", .restarts = restarts});
  return end ? std::string(outcome_name(end->kind)) + ": " + end->reason : "none";
}

TEST(SlurmEnd, TellsItsReasonsApart) {
  EXPECT_EQ(outcome(said("COMPLETING", "TimeLimit", "Restarts=0")),
            "limit: Slurm's job 7 has reached its time limit");
  EXPECT_EQ(outcome(said("COMPLETING", "None", "Restarts=0")),
            "cancelled: Slurm's job 7 was cancelled");
  EXPECT_EQ(outcome(said("COMPLETING", "None", "Restarts=1")),
            "preempted: Slurm's job 7 was requeued or preempted");
  EXPECT_EQ(outcome(said("RUNNING", "None", "Restarts=0 PreemptTime=2026-11-30T18:00:00")),
            "preempted: Slurm's job 7 was preempted: another job needs its nodes");
  EXPECT_EQ(outcome(said("RUNNING", "None", "Restarts=0 PreemptTime=None")), "none");
}

TEST(SlurmEnd, OtherEndsAndOtherJobsAreNoCancelledJob) {
  EXPECT_EQ(outcome(said("COMPLETING", "NodeDown", "Restarts=0")), "none");
  EXPECT_EQ(outcome("JobId=8 JobState=COMPLETING Reason=None Restarts=0\n" +
                    said("RUNNING", "None", "Restarts=0")),
            "none")
      << "another task of the array";
}

TEST(SlurmEnd, ASecondAttemptIsNoRequeue) {
  EXPECT_EQ(outcome(said("RUNNING", "None", "Restarts=1"), 1), "none");
  EXPECT_EQ(outcome(said("COMPLETING", "None", "Restarts=1"), 1),
            "cancelled: Slurm's job 7 was cancelled");
}

TEST(SlurmEnd, ASignalByHandIsNoEndOfTheJob) {
  EXPECT_EQ(outcome(said("RUNNING", "None", "Restarts=0")), "none");
  EXPECT_EQ(outcome(""), "none");
  EXPECT_EQ(outcome("slurm_load_jobs error: Invalid job id specified"), "none");
}

TEST(SlurmEnd, OnlyAJobHasOne) {
  std::map<std::string, std::string> environment;
  const auto variable = [&](const char* name) { return environment[name]; };
  EXPECT_FALSE(slurm_job(variable));
  environment["SLURM_JOB_ID"] = "7; rm -rf /";
  EXPECT_FALSE(slurm_job(variable));
  environment["SLURM_JOB_ID"] = "7";
  EXPECT_EQ(slurm_job(variable)->restarts, 0);
  environment["SLURM_RESTART_COUNT"] = "3";
  EXPECT_EQ(slurm_job(variable)->restarts, 3);
}

}  // namespace
}  // namespace corral::run
