import ArgumentParser
import CloudKit
import CloudService
import CloudSync
import Dashboard
import Facts

/// `cktop queue show`.
struct QueueShow: Verb {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show one operation: payload, base and server values, every attempt, what it waits for."
  )

  @Argument(help: "The operation's number.", transform: { try VersionedID.number($0, from: "cktop queue list") })
  var id: Int64
  @Flag(help: .json("Print one JSON object.", ShownOperation.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    guard let detail = try session.reader().view({ try $0.detail(of: id) }), let object = detail.json else {
      throw CommandFailure.no([id])
    }
    let facts = OperationFacts(detail, Format(), now: SyncStore.currentTime)
    let fields = detail.sides.map { $0.line(Format()) }
    OutputFile.standard.lines(json ? [object.line] : ([facts.title ?? ""] + facts.lines + fields).map(\.visible))
  }
}
