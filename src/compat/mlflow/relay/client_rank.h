// Finds the process behind a connection to the relay, and its rank.
//
// Launchers (torchrun, srun, mpirun) give each process of a distributed training its rank in the
// environment. The kernel knows which process holds the other end of a loopback connection.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace corral::run {

struct RankedClient {
  pid_t pid = 0;
  std::int64_t rank = 0;
};
// Returns nullopt if the process has no rank or is not `root` or a descendant of it. Reads /proc;
// takes some ms with hundreds of processes.
std::optional<RankedClient> ranked_client(std::uint16_t client_port, std::uint16_t server_port,
                                          pid_t root);

}  // namespace corral::run
