import CloudSync

/// The names of records in a list without a zone column: with the zone if several records have the same name.
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
