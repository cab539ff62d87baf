import CloudKit
import Foundation
import Synchronization

/// Counts the requests of a run, and refuses those beyond its limit.
final class Meter: Sendable {
  private struct Reading {
    var sent = 0
    var limit: Int
    var last: CKTransportResponse?
  }

  private let reading: Mutex<Reading>

  init(limit: Int) { reading = Mutex(Reading(limit: limit)) }

  /// The number of requests sent, uploads and downloads included.
  var sent: Int { reading.withLock { $0.sent } }

  /// Whether the next request would be refused.
  var isUsedUp: Bool { reading.withLock { $0.sent >= $0.limit } }

  /// The last response, for checks of its headers.
  var last: CKTransportResponse? { reading.withLock { $0.last } }

  /// Allows more requests: those that remove what the run created.
  func extend(by count: Int) { reading.withLock { $0.limit += count } }

  fileprivate func count() throws(CKTransportError) {
    let isAllowed = reading.withLock { reading in
      guard reading.sent < reading.limit else { return false }
      reading.sent += 1
      return true
    }
    guard isAllowed else { throw CKTransportError(.notSent, "The run has sent all the requests that it may send.") }
  }

  fileprivate func note(_ response: CKTransportResponse) -> CKTransportResponse {
    reading.withLock { $0.last = response }
    return response
  }
}

/// Sends requests through another transport and counts them.
struct MeteredTransport: CKTransport {
  let transport: any CKTransport
  let meter: Meter

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    try meter.count()
    return meter.note(try await transport.send(request))
  }

  func transport(to origin: URL, timeout: Duration) -> any CKTransport {
    MeteredTransport(transport: transport.transport(to: origin, timeout: timeout), meter: meter)
  }

  var assetTransport: any CKAssetTransport { Assets(transport: transport.assetTransport, meter: meter) }

  /// Counts uploads and downloads.
  private struct Assets: CKAssetTransport {
    let transport: any CKAssetTransport
    let meter: Meter

    func upload(file: URL, to address: URL) async throws(CKTransportError) -> CKTransportResponse {
      try meter.count()
      return try await transport.upload(file: file, to: address)
    }

    func download(
      from address: URL,
      to file: URL,
      limit: Int64
    ) async throws(CKTransportError) -> CKTransportResponse {
      try meter.count()
      return try await transport.download(from: address, to: file, limit: limit)
    }
  }
}
