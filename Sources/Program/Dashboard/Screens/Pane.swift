/// The panes of the overview, in reading order.
enum Pane: Int, Hashable, Sendable, CaseIterable {
  case sync = 1
  case account, queue, records

  var title: String {
    switch self {
    case .sync: "Sync"
    case .account: "Account"
    case .queue: "Queue"
    case .records: "Records"
    }
  }

  func next(_ step: Int) -> Pane {
    let all = Pane.allCases
    return all[(rawValue - 1 + step + all.count) % all.count]
  }
}
