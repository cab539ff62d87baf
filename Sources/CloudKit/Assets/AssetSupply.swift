/// One request on its way to be sent: which of its assets still lack a receipt, and which changes failed for want of one.
struct AssetSupply {
  /// An asset that a change saves.
  struct Need: Sendable {
    /// The change's index in the request.
    let change: Int
    let key: String
    /// The place in a list, or 0.
    let position: Int
    let asset: CKAsset
    /// The field, as addresses for uploads name it.
    let token: WireAssetToken
  }

  private(set) var request: ModifyPlan.Request
  /// Changes that cannot be sent, and why.
  private(set) var refused: [(change: ModifyPlan.Change, error: CKError)] = []
  /// Why the request as a whole cannot be sent.
  var failure: WebServicesError?

  init(_ request: ModifyPlan.Request) { self.request = request }

  /// The assets that lack a receipt, in the order of the request.
  var needs: [Need] {
    var needs: [Need] = []
    for (index, change) in request.changes.enumerated() {
      guard case .save(let record, let sent) = change.kind else { continue }
      let fields = change.operation.record.fields.filter { $0.value.assets != nil }
      for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
        guard let descriptors = value.assets, let assets = sent.fields[key]?.assets, assets.count == descriptors.count
        else { continue }
        let token = WireAssetToken(recordName: change.id.recordName, recordType: record.recordType, fieldName: key)
        for (position, asset) in assets.enumerated() where descriptors[position].receipt == nil {
          needs.append(Need(change: index, key: key, position: position, asset: asset, token: token))
        }
      }
    }
    return needs
  }

  /// Puts descriptors into the operations. A change that lacks one is not sent, and with it no other of an atomic group.
  mutating func complete(with results: [(need: Need, result: Result<WireAsset, CKError>)]) {
    var errors: [Int: CKError] = [:]
    var descriptors: [Int: [String: [Int: WireAsset]]] = [:]
    for (need, result) in results {
      switch result {
      case .success(let descriptor):
        descriptors[need.change, default: [:]][need.key, default: [:]][need.position] = descriptor
      case .failure(let error): if errors[need.change] == nil { errors[need.change] = error }
      }
    }
    var changes: [ModifyPlan.Change] = []
    for (index, change) in request.changes.enumerated() {
      if let error = errors[index] {
        refused.append((change, error))
      } else if request.atomic, !errors.isEmpty {
        refused.append((change, CKError(.batchRequestFailed, "Another record of the atomic group cannot be sent.")))
      } else {
        do throws(CKError) {
          changes.append(try change.completed(with: descriptors[index] ?? [:]))
        } catch {
          refused.append((change, error))
        }
      }
    }
    request.changes = changes
  }
}

extension ModifyPlan.Change {
  fileprivate func completed(with descriptors: [String: [Int: WireAsset]]) throws(CKError) -> ModifyPlan.Change {
    guard !descriptors.isEmpty else { return self }
    return try asking { record in
      for (key, given) in descriptors {
        guard let value = record.fields[key], let old = value.assets else { continue }
        record.fields[key] = value.replacingAssets(with: old.enumerated().map { given[$0.offset] ?? $0.element })
      }
    }
  }
}
