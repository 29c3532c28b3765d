#include "run/job.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <latch>
#include <map>
#include <set>
#include <thread>

#include "spool/test_spool.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace corral::run {
namespace {

using Environment = std::map<std::string, std::string>;

std::optional<Job> job_in(const Environment& environment, const std::string& chosen = "",
                          const std::vector<std::string>& command = {"train.py"}) {
  return find_job(chosen, command, [&](const char* name) {
    const auto found = environment.find(name);
    return found != environment.end() ? found->second : std::string();
  });
}

Environment step(int rank, const std::string& job = "7") {
  return {{"SLURM_JOB_ID", job},         {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_CLUSTER_NAME", "c"},   {"ENVIRONMENT", "BATCH"}};
}

Environment open_mpi(int rank, const std::string& port = "40001") {
  return {{"PMIX_NAMESPACE", "2213150721"},
          {"PMIX_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", "4"},
          {"OMPI_MCA_orte_hnp_uri", "2213150720.0;tcp://10.0.0.1:" + port}};
}

TEST(Job, ProcessesOfAStepHaveOneKeyAndLabelsOfTheirOwn) {
  const auto one = job_in(step(0));
  const auto two = job_in(step(3));
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->key, two->key);
  EXPECT_EQ(one->member.label, "rank0");
  EXPECT_EQ(two->member.label, "rank3");
  EXPECT_EQ(two->member.rank, 3);
  EXPECT_TRUE(one->leads);
  EXPECT_FALSE(two->leads);
  EXPECT_NE(job_in(step(0, "8"))->key, one->key);
  Environment other = step(0);
  other["SLURM_STEP_ID"] = "1";
  EXPECT_NE(job_in(other)->key, one->key);
  other = step(0);
  other["SLURM_CLUSTER_NAME"] = "d";
  EXPECT_NE(job_in(other)->key, one->key);
}

TEST(Job, MpiInABatchJobIsAJobOfItsOwn) {
  Environment inside = open_mpi(2);
  inside.merge(step(0));
  const auto job = job_in(inside);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->key, job_in(open_mpi(0))->key);
  EXPECT_EQ(job->member.label, "rank2");
  EXPECT_NE(job_in(open_mpi(0, "40002"))->key, job->key) << "its number came again";
}

TEST(Job, PmixOfSrunNamesTheStep) {
  Environment pmix = step(1);
  pmix["PMIX_NAMESPACE"] = "slurm.pmix.7.0";
  pmix["PMIX_RANK"] = "1";
  pmix["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_EQ(job_in(pmix)->key, job_in(step(0))->key);
}

TEST(Job, RanksOfALauncherThatNamesNoJobStayApart) {
  const std::vector<Environment> launchers{
      {{"PMIX_NAMESPACE", "prterun-node1-4711@1"},
       {"PMIX_RANK", "1"},
       {"OMPI_COMM_WORLD_SIZE", "4"}},
      {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}},
  };
  for (Environment rank : launchers) {
    EXPECT_FALSE(job_in(rank));
    rank.merge(step(0));  // their daemons are srun's
    EXPECT_FALSE(job_in(rank));
    EXPECT_TRUE(is_task([&](const char* name) { return rank[name]; }));
  }
  Environment batch{
      {"SLURM_JOB_ID", "7"}, {"ENVIRONMENT", "BATCH"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}};
  EXPECT_FALSE(job_in(batch));
  Environment pmi2 = step(1);
  pmi2["PMI_RANK"] = "1";
  pmi2["PMI_SIZE"] = "4";
  EXPECT_EQ(job_in(pmi2)->key, job_in(step(0))->key) << "srun --mpi=pmi2";
}

TEST(Job, AStartAgainIsTheNextAttemptOfTheSameJob) {
  Environment again = step(1);
  again["SLURM_RESTART_COUNT"] = "2";
  EXPECT_EQ(job_in(again)->key, job_in(step(1))->key);
  EXPECT_EQ(job_in(again)->member.attempt, 2U);
  EXPECT_EQ(job_in(step(1))->member.attempt, 0U);
}

TEST(Job, ABatchScriptAloneHasARunForEachCommand) {
  const Environment script{{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"ENVIRONMENT", "BATCH"}};
  const auto one = job_in(script, "", {"train.py", "--seed", "1"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->member.label, "") << "its series are as everywhere";
  EXPECT_TRUE(one->leads);
  EXPECT_EQ(job_in(script, "", {"train.py", "--seed", "1"})->key, one->key);
  EXPECT_NE(job_in(script, "", {"train.py", "--seed", "2"})->key, one->key);
  Environment interactive = script;
  interactive.erase("ENVIRONMENT");
  EXPECT_FALSE(job_in(interactive)) << "nothing starts it again";
}

TEST(Job, WithoutALauncherThereIsNone) {
  EXPECT_FALSE(job_in({}));
  EXPECT_FALSE(job_in({{"RANK", "1"}, {"WORLD_SIZE", "2"}})) << "torchrun starts no supervisors";
  EXPECT_FALSE(job_in(step(0), "none"));
}

TEST(Job, AChosenKeyCountsBeforeTheLauncher) {
  const auto chosen = job_in(step(1), "pair");
  EXPECT_EQ(chosen->key, job_in({}, "pair")->key);
  EXPECT_EQ(chosen->member.label, "rank1");
  EXPECT_EQ(job_in({}, "pair")->member.label, sys::host_name());
  EXPECT_EQ(job_in({}, "pair")->member.rank, std::nullopt);
}

TEST(Job, ALauncherOnEachHostIsAHostAndNoRank) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"/opt/bin/torchrun", "train.py"},
        {"python", "-m", "torch.distributed.run", "train.py"}}) {
    const auto job = job_in(step(1), "", command);
    EXPECT_EQ(job->member.label, sys::host_name());
    EXPECT_EQ(job->member.rank, std::nullopt);
    EXPECT_FALSE(job->leads);
  }
}

class RunOfJob : public testing::Test {
 protected:
  Result<RunId> run(const std::string& host, int rank, const std::string& user = "user") {
    return run_of(*job_in(step(rank)), dir_.path() / user, dir_.path() / host);
  }
  spool::TestDirectory dir_;
};

TEST_F(RunOfJob, HostsOfOneUserAgree) {
  const RunId first = run("one", 0).value();
  EXPECT_EQ(run("two", 1).value(), first);
  EXPECT_EQ(run("two", 2).value(), first) << "a rank on the same host";
  EXPECT_NE(run("three", 0, "another user").value(), first);
}

TEST_F(RunOfJob, TheNextCommandOfEachRankIsTheNextRun) {
  const RunId first = run("one", 0).value();
  const RunId second = run("one", 0).value();
  EXPECT_NE(second, first);
  EXPECT_EQ(run("two", 1).value(), first);
  EXPECT_EQ(run("two", 1).value(), second);
}

TEST_F(RunOfJob, AnAttemptOnTheSameHostIsTheSameRun) {
  const RunId first = run("one", 0).value();
  Environment again = step(0);
  again["SLURM_RESTART_COUNT"] = "1";
  EXPECT_EQ(run_of(*job_in(again), dir_.path() / "user", dir_.path() / "one").value(), first);
}

TEST_F(RunOfJob, ProcessesThatMakeTheSecretAtOnceAgree) {
  constexpr int kProcesses = 16;
  std::array<RunId, kProcesses> runs;
  std::latch all{kProcesses};
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < kProcesses; ++n) {
      threads.emplace_back([&, n] {
        all.arrive_and_wait();
        runs.at(static_cast<std::size_t>(n)) = run("host" + std::to_string(n), n).value();
      });
    }
  }
  EXPECT_EQ(std::set(runs.begin(), runs.end()).size(), 1U);
}

TEST_F(RunOfJob, NobodyElseMayReadOrHaveWrittenTheSecret) {
  ASSERT_TRUE(run("one", 0));
  struct stat facts {};
  ASSERT_EQ(::stat((dir_.path() / "user" / "job-secret").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  // One that another user could have made is not used.
  ASSERT_EQ(::symlink("/etc/hostname", (dir_.path() / "link").c_str()), 0);
  ASSERT_EQ(::mkdir((dir_.path() / "other").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("/etc/hostname", (dir_.path() / "other" / "job-secret").c_str()), 0);
  const auto refused = run("one", 1, "other");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kPermission);
}

TEST_F(RunOfJob, ABrokenSecretIsNamed) {
  ASSERT_EQ(::mkdir((dir_.path() / "user").c_str(), 0700), 0);
  std::ofstream(dir_.path() / "user" / "job-secret") << "short";
  ASSERT_EQ(::chmod((dir_.path() / "user" / "job-secret").c_str(), 0600), 0);
  const auto refused = run("one", 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("job-secret"), std::string::npos);
  EXPECT_NE(refused.error().message.find("delete it"), std::string::npos);
}

}  // namespace
}  // namespace corral::run
