package import CloudSync
package import Facts

/// The status of a store in Prometheus' text format.
package struct StatusMetrics {
  private let status: StoreStatus
  private let verdict: Verdict

  package init(_ status: StoreStatus, _ verdict: Verdict) { (self.status, self.verdict) = (status, verdict) }

  /// All metrics with their descriptions, a line each.
  package var text: String {
    let queue = status.queue
    var text = ""
    text += gauge("cktop_in_sync", "Whether everything is sent and fetched.", [([], status.isInSync ? "1" : "0")])
    text += gauge(
      "cktop_dropped_unseen",
      "Local changes that were dropped and that no person has seen.",
      [([], String(status.dropped.unseen))]
    )
    text += gauge(
      "cktop_verdict",
      "How the store stands: 1 for the verdict that holds.",
      Verdict.names.map { ([("verdict", $0)], $0 == verdict.name ? "1" : "0") }
    )
    text += gauge("cktop_state", "What syncing is doing.", [([("state", status.state.rawValue)], "1")])
    text += gauge(
      "cktop_queue_operations",
      "Operations in the queue by state.",
      OperationState.allCases.map { ([("state", $0.rawValue)], String(queue.count(of: $0))) }
    )
    text += gauge("cktop_queue_bytes", "Bytes of the operations in the queue.", [([], String(queue.bytes))])
    text += gauge(
      "cktop_records",
      "Records of the local copy with pending edits, by type.",
      status.recordsByType.sorted { $0.key < $1.key }.map { ([("type", $0.key)], String($0.value)) }
    )
    text += time(
      "cktop_oldest_pending_timestamp_seconds",
      "When the oldest pending change was enqueued.",
      queue.oldestPendingAt
    )
    text += time("cktop_last_success_timestamp_seconds", "The end of the last full sync.", status.lastSuccessAt)
    text += gauge(
      "cktop_throttled_until_timestamp_seconds",
      "Waits by scope.",
      status.throttles.map { ([("scope", $0.scope.name), ("error", $0.code)], seconds($0.until)) }
    )
    text += gauge(
      "cktop_driver_live",
      "Whether a process is syncing the store.",
      [([], status.isSyncing ? "1" : "0")]
    )
    text += gauge(
      "cktop_driver_stalled",
      "Whether the process that should sync the store does not do its work.",
      [([], status.syncingProcess?.stalledSince != nil ? "1" : "0")]
    )
    return text
  }

  private func time(_ name: String, _ help: String, _ milliseconds: Int64?) -> String {
    gauge(name, help, milliseconds.map { [([], seconds($0))] } ?? [])
  }

  private func seconds(_ milliseconds: Int64) -> String { String(Double(milliseconds) / 1000) }

  private func gauge(_ name: String, _ help: String, _ samples: [([(String, String)], String)]) -> String {
    var text = "# HELP \(name) \(help)\n# TYPE \(name) gauge\n"
    for (labels, value) in samples {
      let list = labels.map { "\($0.0)=\"\(Self.escape($0.1))\"" }.joined(separator: ",")
      text += list.isEmpty ? "\(name) \(value)\n" : "\(name){\(list)} \(value)\n"
    }
    return text
  }

  /// Labels come from records, zones and the server.
  private static func escape(_ text: String) -> String {
    let escapes: [Unicode.Scalar: String] = ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"]
    return text.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
  }
}
