/// A request being prepared for sending: the assets that still lack an upload receipt, and the changes that failed
/// because no receipt could be obtained.
struct AssetSupply {
  /// An asset that a change saves.
  struct Need: Sendable {
    /// The change's index in the request.
    let change: Int
    let key: String
    /// The index in a list, or 0.
    let position: Int
    let asset: CKAsset
    /// The field, as upload address requests identify it.
    let token: WireAssetToken
  }

  private(set) var request: ModifyPlan.Request
  /// The changes that cannot be sent, each with its error.
  private(set) var refused: [(change: ModifyPlan.Change, error: CKError)] = []
  /// The error that prevents sending the whole request.
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

  /// Puts descriptors into the operations. A change whose asset failed is not sent; in an atomic group, no change is
  /// sent.
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
        refused.append((change, CKError(.batchRequestFailed, "Another record in the atomic group cannot be sent.")))
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
    return try withRecord { record in
      for (key, given) in descriptors {
        record.fields[key] = record.fields[key]?.replacingAssets(at: given)
      }
    }
  }
}
