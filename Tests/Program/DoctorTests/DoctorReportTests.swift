import Facts
import Testing

@testable import CloudSync
@testable import Doctor

/// The exit code of `cktop doctor`, and the unit that it names.
struct DoctorReportTests {
  @Test(
    arguments: [
      ([.itemsFailed, .cloudUnreachable, .personNeeded, .storeUnusable], .storeUnusable),
      ([.itemsFailed, .cloudUnreachable, .personNeeded], .personNeeded),
      ([.itemsFailed, .cloudUnreachable], .cloudUnreachable),
      ([.itemsFailed], .itemsFailed), ([], .done),
    ] as [([CommandStatus], CommandStatus)]
  )
  func `the most urgent problem decides the exit code, and warnings have none`(
    _ problems: [CommandStatus],
    _ expected: CommandStatus
  ) {
    let findings = problems.map { Finding.problem(.store, "a", nil, "b", status: $0) }
    #expect(DoctorReport(findings + [.warning(.disk, "c"), .notTried(.clock, "d")]).status == expected)
  }

  @Test(arguments: [
    ("0::/system.slice/cktop.service", "cktop.service"),
    ("12:cpu:/\n1:name=systemd:/system.slice/sync.service\n", "sync.service"),
    ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/cktop.service", "cktop.service"),
    ("0::/user.slice/user-1000.slice/session-3.scope", nil),
    ("0::/user.slice/user-1000.slice/user@1000.service/tmux-spawn-1.scope", nil), ("0::/", nil), ("", nil),
  ])
  func `the unit of a process is the service of its control group`(_ groups: String, _ unit: String?) {
    #expect(RunningProcess.unit(inGroups: groups) == unit)
  }
}
