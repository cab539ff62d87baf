import Doctor
import Testing

@testable import cktop

struct DoctorOutputTests {
  @Test func `lines fit into the columns of the terminal`() {
    let long = Array(repeating: "the server cannot be reached", count: 9).joined(separator: ", ")
    let findings: [Finding] = [
      .ok(.proxy, "no proxy is used"), .problem(.connection, long, long, "check the network"),
      .notTried(.encryption, long),
    ]

    let lines = DoctorReport(findings).lines(width: 80)

    #expect(lines.allSatisfy { $0.columns <= 80 })
    #expect(lines.filter { !$0.hasPrefix(" ") }.count == findings.count + 1)
    #expect(DoctorReport(findings).lines().count == findings.count + 1)
  }
}
