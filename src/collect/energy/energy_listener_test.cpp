#include "collect/energy/energy_listener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "collect/test_roots.h"

namespace corral::collect {
namespace {

constexpr const char* kPowercap = "sys/class/powercap/";

void write_zone(const FakeRoot& root, const std::string& zone, const std::string& name,
                const std::string& energy) {
  root.write(kPowercap + zone + "/name", name + "\n");
  root.write(kPowercap + zone + "/energy_uj", energy + "\n");
  root.write(kPowercap + zone + "/max_energy_range_uj", "262143328850\n");
}

int no_event(const energy::PowerEvent&) {
  errno = EACCES;
  return -1;
}

struct Machine {
  explicit Machine(const FakeRoot& root, energy::OpenEvent open = no_event)
      : listener(energy::open_listener({.root = root.path()}, table, open)) {}
  Values sample() { return sample_once(*listener, table, kFastGroup); }
  SeriesTable table;
  std::unique_ptr<Listener> listener;
};

TEST(EnergyPowercap, RecordsEachDomainOfEachPackageOnce) {
  const FakeRoot root;
  root.write(std::string(kPowercap) + "intel-rapl/enabled", "1\n");
  write_zone(root, "intel-rapl:0", "package-0", "1000000");
  write_zone(root, "intel-rapl:0:0", "core", "2000000");
  write_zone(root, "intel-rapl:0:1", "dram", "3000000");
  write_zone(root, "intel-rapl:1", "package-1", "4000000");
  write_zone(root, "intel-rapl:1:0", "dram", "5000000");
  write_zone(root, "intel-rapl:2", "psys", "6000000");
  write_zone(root, "intel-rapl:3", "package-0", "999000000");  // a second file of the same package
  write_zone(root, "intel-rapl-mmio:0", "package-0", "888000000");  // and the same by another bus
  write_zone(root, "dtpm:0", "something", "7");
  Machine machine(root);
  EXPECT_EQ(machine.sample(), (Values{{"host.energy.package/package-0", 1},
                                      {"host.energy.cores/package-0", 2},
                                      {"host.energy.dram/package-0", 3},
                                      {"host.energy.package/package-1", 4},
                                      {"host.energy.dram/package-1", 5},
                                      {"host.energy.platform/psys", 6}}));
}

TEST(EnergyPowercap, KeepsThePackageThatOnlyTheOtherBusHas) {
  const FakeRoot root;
  write_zone(root, "intel-rapl-mmio:0", "package-0", "888000000");
  EXPECT_EQ(Machine(root).sample(), (Values{{"host.energy.package/package-0", 888}}));
}

TEST(EnergyPowercap, DoesNotTakeOneCoreForAllOfThem) {
  const FakeRoot root;
  write_zone(root, "intel-rapl:0", "package-0", "1000000");
  write_zone(root, "intel-rapl:0:0", "core", "2000000");
  root.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\n");
  Machine machine(root);
  EXPECT_EQ(machine.sample(), (Values{{"host.energy.package/package-0", 1}}));
  EXPECT_NE(missing(machine.table, "host.energy.cores").find("each core"), std::string::npos);
}

TEST(EnergyPowercap, GoesOnWhereTheCounterWraps) {
  const FakeRoot root;
  write_zone(root, "intel-rapl:0", "package-0", "262143000000");
  Machine machine(root);
  const double before = machine.sample().at("host.energy.package/package-0");
  root.write(std::string(kPowercap) + "intel-rapl:0/energy_uj", "1671150\n");
  const double after = machine.sample().at("host.energy.package/package-0");
  EXPECT_NEAR(after - before, 2.0, 1e-6);
}

TEST(EnergyPowercap, AReadThatFailsIsMissingAndNoWrap) {
  const FakeRoot root;
  write_zone(root, "intel-rapl:0", "package-0", "5000000");
  Machine machine(root);
  EXPECT_EQ(machine.sample().size(), 1u);
  root.write(std::string(kPowercap) + "intel-rapl:0/energy_uj", "");
  EXPECT_TRUE(machine.sample().empty());
  root.write(std::string(kPowercap) + "intel-rapl:0/energy_uj", "7000000\n");
  EXPECT_DOUBLE_EQ(machine.sample().at("host.energy.package/package-0"), 7);
}

TEST(EnergyPowercap, NamesTheRemedyWhenNotAllowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  const FakeRoot root;
  write_zone(root, "intel-rapl:0", "package-0", "5000000");
  ::chmod(root.path().c_str(), 0755);
  ::chmod((root.path() / kPowercap / "intel-rapl:0/energy_uj").c_str(), 0400);
  ASSERT_EQ(::seteuid(65534), 0);
  const Machine machine(root);
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(machine.listener, nullptr);
  const std::string reason = missing(machine.table, "host.energy.*");
  EXPECT_NE(reason.find("Permission denied"), std::string::npos) << reason;
  EXPECT_NE(reason.find("sudo chmod a+r /sys/class/powercap/*/energy_uj"), std::string::npos);
}

TEST(Energy, SaysThatAMachineHasNone) {
  const FakeRoot root;
  const Machine machine(root);
  EXPECT_EQ(machine.listener, nullptr);
  EXPECT_NE(missing(machine.table, "host.energy.*").find("no RAPL"), std::string::npos);
}

void write_pmu(const FakeRoot& root) {
  const std::string pmu = "sys/bus/event_source/devices/power/";
  root.write(pmu + "type", "21\n");
  root.write(pmu + "cpumask", "0,2\n");
  for (const char* event : {"pkg", "ram"}) {
    const std::string name = pmu + "events/energy-" + event;
    root.write(name, std::string("event=0x0") + (std::string(event) == "pkg" ? "2" : "3") + "\n");
    root.write(name + ".scale", "0.5\n");
    root.write(name + ".unit", "Joules\n");
  }
  const std::string cpu = "sys/devices/system/cpu/cpu";
  root.write(cpu + "0/topology/physical_package_id", "0\n");
  root.write(cpu + "2/topology/physical_package_id", "1\n");
}

// Stands in for the kernel: so many counts.
int event_of(std::uint64_t count, int counts) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return -1;
  for (int i = 0; i < counts; ++i) {
    [[maybe_unused]] const ssize_t n = ::write(pipe[1], &count, sizeof count);
  }
  ::close(pipe[1]);
  return pipe[0];
}
// 10 * config + CPU, at the open and in one sample.
int counting_event(const energy::PowerEvent& event) {
  return event_of(event.attr.config * 10 + event.cpu, 2);
}
int still_event(const energy::PowerEvent& event) {
  return event.metric == "host.energy.package" ? event_of(0, 100) : counting_event(event);
}

TEST(EnergyPerf, OpensOneEventForEachDomainAndPackage) {
  const FakeRoot root;
  write_pmu(root);
  const auto events = energy::power_events(root.path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].attr.type, 21u);
  Machine machine(root, counting_event);
  EXPECT_EQ(machine.sample(), (Values{{"host.energy.package/package-0", 10},
                                      {"host.energy.package/package-1", 11},
                                      {"host.energy.dram/package-0", 15},
                                      {"host.energy.dram/package-1", 16}}));
  EXPECT_TRUE(machine.sample().empty()) << "no count, no value";
}

// Seen in a virtual machine whose perf showed "psys" alone.
TEST(EnergyPerf, ACounterThatStaysAt0IsNotAvailable) {
  const FakeRoot root;
  write_pmu(root);
  write_zone(root, "intel-rapl:0", "package-0", "0");
  write_zone(root, "intel-rapl:2", "psys", "0");
  Machine machine(root, still_event);
  const Values v = machine.sample();
  EXPECT_EQ(v, (Values{{"host.energy.dram/package-0", 15}, {"host.energy.dram/package-1", 16}}));
  for (const char* counter : {"host.energy.package of package-0",
                              "host.energy.package of package-1", "host.energy.platform of psys"})
    EXPECT_NE(missing(machine.table, counter).find("stays at 0"), std::string::npos) << counter;
}

TEST(EnergyPowercap, SaysThatAllItsCountersStayAt0) {
  const FakeRoot root;
  write_zone(root, "intel-rapl:0", "package-0", "0");
  const Machine machine(root);
  EXPECT_EQ(machine.listener, nullptr);
  EXPECT_NE(missing(machine.table, "host.energy.package of package-0").find("stays at 0"),
            std::string::npos);
}

TEST(EnergyPerf, IsPreferredDomainByDomain) {
  const FakeRoot root;
  write_pmu(root);
  write_zone(root, "intel-rapl:0", "package-0", "77000000");
  write_zone(root, "intel-rapl:2", "psys", "6000000");
  const Values v = Machine(root, counting_event).sample();
  EXPECT_EQ(v.at("host.energy.package/package-0"), 10);
  EXPECT_EQ(v.at("host.energy.platform/psys"), 6);
}

TEST(EnergyPerf, FallsBackToPowercap) {
  const FakeRoot root;
  write_pmu(root);
  write_zone(root, "intel-rapl:0", "package-0", "77000000");
  EXPECT_EQ(Machine(root).sample(), (Values{{"host.energy.package/package-0", 77}}));
}

TEST(EnergyPerf, TellsDiesOfOnePackageApart) {
  const FakeRoot root;
  write_pmu(root);
  root.write("sys/devices/system/cpu/cpu2/topology/physical_package_id", "0\n");
  root.write("sys/devices/system/cpu/cpu0/topology/die_id", "0\n");
  root.write("sys/devices/system/cpu/cpu2/topology/die_id", "1\n");
  const auto events = energy::power_events(root.path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].source, "package-0-die-0");
  EXPECT_EQ(events[1].source, "package-0-die-1");
}

TEST(EnergyPerf, ABrokenDescriptionIsNoEvent) {
  const FakeRoot root;
  write_pmu(root);
  const std::string event = "sys/bus/event_source/devices/power/events/energy-pkg";
  for (const char* text : {"", "event", "event=", "event=0x", "umask"}) {
    root.write(event, text);
    EXPECT_EQ(energy::power_events(root.path()).size(), 2u) << text;
  }
  root.write("sys/bus/event_source/devices/power/cpumask", "x");
  EXPECT_TRUE(energy::power_events(root.path()).empty());
}

TEST(WrappingCounter, IgnoresWhatCannotBe) {
  energy::WrappingCounter counter(100);
  EXPECT_EQ(counter.add(90), 90);
  EXPECT_EQ(counter.add(101), 90) << "above its own range";
  EXPECT_EQ(counter.add(10), 110);
  energy::WrappingCounter unknown(0);
  EXPECT_EQ(unknown.add(90), 90);
  EXPECT_EQ(unknown.add(10), 90) << "without a range a fall adds nothing";
  EXPECT_EQ(unknown.add(15), 95);
}

}  // namespace
}  // namespace corral::collect
