#include "run/set_up/variables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/text.h"

namespace corral::run::set_up {
namespace {

constexpr auto kPrefixes = std::to_array<std::string_view>(
    {"CUDA_",   "CUBLAS_", "CUDNN_",    "NCCL_",    "NVIDIA_",      "TORCH_",        "PYTORCH_",
     "TF_",     "XLA_",    "JAX_",      "KERAS_",   "OMP_",         "GOMP_",         "KMP_",
     "MKL_",    "DNNL_",   "OPENBLAS_", "NUMEXPR_", "MALLOC_",      "HIP_",          "ROCR_",
     "MIOPEN_", "ZE_",     "GLOO_",     "UCX_",     "TORCHDYNAMO_", "TORCHINDUCTOR_"});
constexpr auto kNames =
    std::to_array<std::string_view>({"PYTHONHASHSEED",     "PYTHONPATH",
                                     "PYTHONOPTIMIZE",     "LD_PRELOAD",
                                     "LD_LIBRARY_PATH",    "VIRTUAL_ENV",
                                     "CONDA_PREFIX",       "CONDA_DEFAULT_ENV",
                                     "WORLD_SIZE",         "RANK",
                                     "LOCAL_RANK",         "LOCAL_WORLD_SIZE",
                                     "SLURM_JOB_ID",       "SLURM_JOB_PARTITION",
                                     "SLURM_JOB_NODELIST", "SLURM_NNODES",
                                     "SLURM_NTASKS",       "SLURM_PROCID",
                                     "SLURM_LOCALID",      "SLURM_CPUS_PER_TASK",
                                     "SLURM_GPUS",         "SLURM_ARRAY_TASK_ID"});

constexpr std::size_t kValueBytes = 1000;

}  // namespace

bool is_recorded(std::string_view variable) {
  if (hints_at_secret(variable)) return false;  // overrides the lists above
  const auto starts = [&](std::string_view prefix) { return variable.starts_with(prefix); };
  return std::ranges::any_of(kPrefixes, starts) ||
         std::ranges::find(kNames, variable) != kNames.end();
}

std::string recorded_variables(const std::vector<std::string>& environment, Mask& mask) {
  std::map<std::string, std::string> chosen;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || !is_recorded(std::string_view(entry).substr(0, equals)))
      continue;
    std::string value = mask.text(to_utf8(std::string_view(entry).substr(equals + 1)));
    if (value.size() > kValueBytes)
      value = value.substr(0, utf8_prefix(std::string_view(value).substr(0, kValueBytes))) + "…";
    std::ranges::replace(value, '\n', ' ');
    chosen[to_utf8(entry.substr(0, equals))] = std::move(value);
  }
  std::string lines;
  for (const auto& [name, value] : chosen) lines += fmt::format("{}={}\n", name, value);
  return lines;
}

}  // namespace corral::run::set_up
