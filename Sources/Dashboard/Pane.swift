/// The four panes, in the order of their numbers.
enum Pane: Int, CaseIterable, Sendable, Hashable {
  case records = 1
  case queue
  case sync
  case account

  var title: String {
    switch self {
    case .records: "Records"
    case .queue: "Queue"
    case .sync: "Sync"
    case .account: "Account"
    }
  }

  /// Whether the pane is a list with a filter.
  var isList: Bool { self == .records || self == .queue }

  func next(_ step: Int) -> Pane {
    let count = Pane.allCases.count
    return Pane.allCases[(rawValue - 1 + step + count) % count]
  }
}
