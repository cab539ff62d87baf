import Facts
import Testing

@testable import CloudService
@testable import CloudSync

struct StatusMetricsTests {
  @Test func `a label cannot leave its quotes`() {
    var status = StoreStatus(generatedAt: 0)
    status.recordsByType = ["a\"} 9\n\\": 1]

    let lines = StatusMetrics(status, status.verdict(hasCredential: true)).text.split(separator: "\n")

    #expect(lines.contains(#"cktop_records{type="a\"} 9\n\\"} 1"#))
    #expect(lines.allSatisfy { $0.hasPrefix("# ") || $0.hasPrefix("cktop_") })
  }
}
