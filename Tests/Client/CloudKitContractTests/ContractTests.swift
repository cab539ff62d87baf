import CloudKit
import CloudKitContract
import CloudKitEmulator
import Foundation
import TestSupport
import Testing

/// The behaviours of a server on which the emulator and the sync engine rest.
@Suite(.serialized, .timeLimit(.minutes(40))) struct ContractTests {
  /// The assumptions that a user cannot test in development.
  private static let untestable = Set(
    (OtherAssumption.ofKeys + OtherAssumption.ofProduction + OtherAssumption.untestable).map(\.name)
  )
  .subtracting(["missingCredentials"])

  @Test(arguments: ContractRoute.open)
  func `each behaviour is as assumed, or not tried for a known reason`(route: ContractRoute) async throws {
    let report = try await route.report()

    // A recording has no tokens.
    let withheld = route == .replayed ? ["1.4"] : []
    for line in report.differing where !withheld.contains(line.check.rule) {
      Issue.record("\(line.check.rule), \(line.check.sentence) \(line.outcome)")
    }
    #expect(report.requests <= Contract.requestLimit)
    #expect(report.leftZone == nil)
    if route == .inProcess || route == .http {
      #expect(Set(report.untried.map { $0.check.assumption }) == Self.untestable)
    }
  }

  @Test(arguments: OtherAssumption.ofUsers)
  func `a server with another behaviour differs in that line only`(other: OtherAssumption.Value) async throws {
    let report = try await Server(changing: { other.set(&$0.assumptions) }).report()

    #expect(report.differing.map { $0.check.assumption ?? $0.check.sentence } == [other.name])
  }

  @Test(arguments: OtherAssumption.ofKeys)
  func `a server with another behaviour for keys differs in that line only`(other: OtherAssumption.Value) async throws {
    let report = try await Server.withKey { other.set(&$0.assumptions) }.report()

    #expect(report.differing.map { $0.check.assumption ?? $0.check.sentence } == [other.name])
  }

  @Test(arguments: OtherAssumption.ofProduction)
  func `a production server with another behaviour differs in that line only`(other: OtherAssumption.Value) async throws
  {
    let report = try await Server.production { other.set(&$0.assumptions) }.report()

    #expect(report.differing.map { $0.check.assumption ?? $0.check.sentence } == [other.name])
  }

  @Test(arguments: OtherAssumption.untestable)
  func `a behaviour that cannot be tested changes no line`(other: OtherAssumption.Value) async throws {
    let report = try await Server(changing: { other.set(&$0.assumptions) }).report()

    #expect(report.differing.isEmpty)
    #expect(report.untried.contains { $0.check.assumption == other.name })
  }

  @Test func `a key tests signatures, and in production the schema of the article is enough`() async throws {
    let withKey = try await Server.withKey().report()
    let production = try await Server.production().report()

    let tried = withKey.lines.filter { $0.outcome == .asAssumed }.compactMap(\.check.assumption)
    #expect(tried == ["emptyBodySignature", "futureSkew", "missingCredentials", "signatureLifetime"])
    #expect(withKey.differing.isEmpty)
    #expect(production.differing.isEmpty)
    let onlyInDevelopment: Set = ["developmentLearnsSchema", "learntTypesIndexSystemFields", "emptyListsAddFields"]
    #expect(
      Set(production.untried.compactMap(\.check.assumption))
        == Self.untestable.subtracting(["unknownField"]).union(onlyInDevelopment)
    )
  }

  @Test func `queries wait for an index that lags`() async throws {
    let report = try await Server { $0.indexDelay = .seconds(7) }.report()

    #expect(report.differing.isEmpty)
    #expect(Set(report.untried.map { $0.check.assumption }) == Self.untestable)
  }

  @Test func `each assumption of the emulator has one check`() {
    let switches = Mirror(reflecting: EmulatorAssumptions()).children.compactMap(\.label)

    #expect(ContractCheck.all.compactMap(\.assumption).sorted() == switches.sorted())
    #expect(EmulatorAssumption.all.map(\.name) == switches)
    #expect(EmulatorAssumption.all.allSatisfy { !$0.others.isEmpty })
  }

  @Test func `each check has a sentence of its own, and cites a heading and a mark of the protocol reference`() throws {
    let folder = packageFile("Sources/Handbook/Protocol")
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    let text = try files.filter { $0.lastPathComponent.hasPrefix("Protocol-") }
      .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")

    for check in ContractCheck.all {
      #expect(text.contains("\n### \(check.rule)\(check.assumption == nil ? " " : ":")"), "\(check.rule)")
      if let name = check.assumption { #expect(text.contains("`EmulatorAssumptions.\(name)`")) }
    }
    for mark in ContractCheck.Evidence.allCases { #expect(text.contains("\n| `[\(mark.rawValue)]` |")) }
    #expect(Set(ContractCheck.all.map(\.sentence)).count == ContractCheck.all.count)
  }
}
