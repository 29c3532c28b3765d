#include "http/network.h"

#include <gtest/gtest.h>

namespace corral::http {
namespace {

bool is_in(std::string_view network, const std::string& address) {
  const auto parsed = Network::parse(network);
  EXPECT_TRUE(parsed) << network;
  return parsed && parsed->contains(address);
}

TEST(Network, ContainsItsAddressesOnly) {
  EXPECT_TRUE(is_in("10.0.0.0/8", "10.255.1.2"));
  EXPECT_FALSE(is_in("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(is_in("192.168.4.128/25", "192.168.4.128"));
  EXPECT_FALSE(is_in("192.168.4.128/25", "192.168.4.127"));
  EXPECT_TRUE(is_in("10.0.0.7", "10.0.0.7"));
  EXPECT_FALSE(is_in("10.0.0.7", "10.0.0.6"));
  EXPECT_TRUE(is_in("fd00::/8", "fdff::1"));
  EXPECT_FALSE(is_in("fd00::/8", "fe80::1"));
  EXPECT_TRUE(is_in("::1", "::1"));
  EXPECT_TRUE(is_in("0.0.0.0/0", "8.8.8.8"));
}

TEST(Network, V4IsTheSameInsideV6) {
  EXPECT_TRUE(is_in("10.0.0.0/8", "::ffff:10.1.1.1"));
  EXPECT_TRUE(is_in("::ffff:10.0.0.0/104", "10.1.1.1"));
  EXPECT_FALSE(is_in("0.0.0.0/0", "fd00::1"));
}

TEST(Network, TextsThatAreNoAddressAreInNone) {
  for (const char* text : {"", "unix", "10.0.0", "10.0.0.7:80", "[::1]", "010.0.0.7", "10.0.0.7 "})
    EXPECT_FALSE(is_in("0.0.0.0/0", text)) << text;
}

TEST(Network, RefusesWhatItWouldMisread) {
  for (const char* text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x",
                           "10.0.0.1/8", "fd00::1/8", "fd00::/129", "lab", "10.0.0.0/8/8"})
    EXPECT_EQ(Network::parse(text).error().code, Code::kInvalidArgument) << text;
  EXPECT_NE(Network::parse("10.0.0.1/8").error().message.find("/32"), std::string::npos);
}

// A client can begin the header itself; the proxies add to its end.
TEST(ClientBehind, IsTheLastThatNoProxyIs) {
  const std::vector<Network> proxies{Network::parse("10.0.0.0/8").value(),
                                     Network::parse("::1").value()};
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "192.0.2.5"), "192.0.2.5");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "1.2.3.4, 192.0.2.5"), "192.0.2.5");
  EXPECT_EQ(client_behind(proxies, "::1", "1.2.3.4, 192.0.2.5 , 10.0.0.9"), "192.0.2.5");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "192.0.2.5:4711"), "192.0.2.5");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "[2001:db8::1]:4711"), "2001:db8::1");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "[2001:db8::1]"), "2001:db8::1");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "[]:1"), "10.0.0.1");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "192.0.2.5:x"), "10.0.0.1");
  EXPECT_EQ(client_behind(proxies, "192.0.2.9", "1.2.3.4"), "192.0.2.9");  // no proxy itself
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", ""), "10.0.0.1");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "unknown"), "10.0.0.1");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "192.0.2.5, <script>"), "10.0.0.1");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "192.0.2.5,"), "10.0.0.1");
  EXPECT_EQ(client_behind(proxies, "10.0.0.1", "10.0.0.2, 10.0.0.3"), "10.0.0.2");
  EXPECT_EQ(client_behind({}, "10.0.0.1", "192.0.2.5"), "10.0.0.1");
}

}  // namespace
}  // namespace corral::http
