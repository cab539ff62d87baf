import Foundation
import Synchronization
import TestSupport

@testable import CloudKit

/// The hosts that keep the bytes of assets, in memory: what is posted to an address can be got from it.
final class AssetHost: CKAssetTransport {
  private struct State {
    var files: [String: Data] = [:]
    var statuses: [String: Int] = [:]
    var uploads: [String] = []
    var downloads: [String] = []
    var underWay = 0
    var mostUnderWay = 0
    var duringUpload: (@Sendable (URL) -> Void)?
    var isStalled = false
  }

  private let state = Mutex(State())

  /// The addresses in the order of their use.
  var uploads: [String] { state.withLock { $0.uploads } }
  var downloads: [String] { state.withLock { $0.downloads } }
  /// The most transfers that there were at the same time.
  var mostUnderWay: Int { state.withLock { $0.mostUnderWay } }

  subscript(address: String) -> Data? {
    get { state.withLock { $0.files[address] } }
    set { state.withLock { $0.files[address] = newValue } }
  }

  /// Answers an address with a status instead of success.
  func answer(_ address: String, with status: Int) { state.withLock { $0.statuses[address] = status } }

  /// Lets every transfer begin and none end, until its task is cancelled.
  func stall() { state.withLock { $0.isStalled = true } }

  /// Says that a transfer has begun.
  let begun: AsyncStream<Void>
  private let noteBegin: AsyncStream<Void>.Continuation

  init() { (begun, noteBegin) = AsyncStream.makeStream() }

  /// Does something with a file while it is being uploaded.
  func duringUpload(_ action: @escaping @Sendable (URL) -> Void) { state.withLock { $0.duringUpload = action } }

  func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse {
    let (status, action) = await begin(address) { $0.uploads.append(address.absoluteString) }
    defer { end() }
    guard !Task.isCancelled else { throw CKTransportError(.cancelled, "cancelled") }
    guard status == 200 else { return CKTransportResponse(status: status) }
    guard let data = try? Data(contentsOf: file) else { throw CKTransportError(.notSent, "no file") }
    action?(file)
    self[address.absoluteString] = data
    let name = address.lastPathComponent
    return CKTransportResponse(
      status: 200,
      body: Data(
        #"{"singleFile":{"fileChecksum":"sum-\#(name)","size":\#(data.count),"receipt":"receipt-\#(name)"}}"#.utf8
      )
    )
  }

  func download(
    from address: URL,
    to file: URL,
    limit: Int64
  ) async throws(CKTransportError) -> CKTransportResponse {
    let (status, _) = await begin(address) { $0.downloads.append(address.absoluteString) }
    defer { end() }
    guard !Task.isCancelled else { throw CKTransportError(.cancelled, "cancelled") }
    guard let data = self[address.absoluteString], status == 200 else {
      return CKTransportResponse(status: status == 200 ? 404 : status)
    }
    do {
      let handle = try FileHandle(forWritingTo: file)
      try handle.write(contentsOf: data.prefix(Int(limit)))
      try handle.close()
    } catch {
      throw CKTransportError(.unknown, "not written")
    }
    return CKTransportResponse(status: 200)
  }

  private func begin(
    _ address: URL,
    _ note: (inout State) -> Void
  ) async -> (status: Int, action: (@Sendable (URL) -> Void)?) {
    let result = state.withLock { state in
      note(&state)
      state.underWay += 1
      state.mostUnderWay = max(state.mostUnderWay, state.underWay)
      return (state.statuses[address.absoluteString] ?? 200, state.duringUpload)
    }
    noteBegin.yield()
    if state.withLock({ $0.isStalled }) { try? await Task.sleep(for: .seconds(3600)) }
    // Lets the others begin, so that their number shows.
    for _ in 0..<20 { await Task.yield() }
    return result
  }

  private func end() { state.withLock { $0.underWay -= 1 } }
}

extension TemporaryFolder {
  /// Everything in a folder below this one, by path.
  func contents(of folder: String) throws -> [String] {
    let url = url.appending(path: folder)
    guard FileManager.default.fileExists(atPath: url.path) else { return [] }
    return try FileManager.default.subpathsOfDirectory(atPath: url.path).sorted()
  }
}

extension ScriptedServer {
  func container(
    assets: AssetHost,
    in scratch: TemporaryFolder,
    downloads: CKAssetDownloads = .eager
  ) -> CKContainer {
    var configuration = CKContainerConfiguration(
      identifier: "iCloud.test",
      credential: .apiToken("token"),
      transport: self
    )
    configuration.assetTransport = assets
    configuration.assetDownloads = downloads
    configuration.assetFolder = scratch.url.appending(path: "staging")
    configuration.assetGrace = .zero
    return CKContainer(configuration: configuration)
  }
}
