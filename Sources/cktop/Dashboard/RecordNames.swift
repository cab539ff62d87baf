import CloudSync

/// How a list without a column for zones names its records: with their zone, where it holds several of one name.
struct RecordNames {
  private let shared: Set<String>

  init(_ keys: [RecordKey]) {
    let zones = Dictionary(grouping: keys, by: \.name).mapValues { Set($0.map(\.zoneKey)) }
    shared = Set(zones.filter { $1.count > 1 }.keys)
  }

  func text(_ key: RecordKey) -> String {
    if key.name.isEmpty { return "zone \(key.zone)" }
    return shared.contains(key.name) ? "\(key.zone)/\(key.name)" : key.name
  }
}
