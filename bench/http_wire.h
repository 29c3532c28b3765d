// Connections that send prepared requests and wait for the answers, many from one thread: a sender
// that costs so little that it is the server which is measured.
//
// Speaks as much HTTP/1.1 as that takes: answers with Content-Length on connections that stay open.
// Any other answer ends the program. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace corral::bench {

// A whole request with its head; `body` empty: GET. With the token of $CORRAL_BENCH_TOKEN, if set.
std::string request_text(std::string_view path, std::string_view body);

// The next request of a connection, from the body of the answer to the last one (empty at first);
// nothing: it is done. The text must live until the next call.
using NextRequest = std::function<std::optional<std::string_view>(std::string_view answer)>;

// Milliseconds that each answer took.
struct Exchanged {
  double seconds = 0;  // from the first request to the last answer
  std::vector<double> took_ms;
};

// One connection to 127.0.0.1 for each of `work`, all at once.
Exchanged send_all(int port, const std::vector<NextRequest>& work);

}  // namespace corral::bench
