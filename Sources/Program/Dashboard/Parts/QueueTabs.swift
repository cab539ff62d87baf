import CloudService
import CloudSync
import Facts
import TerminalUI

/// The parts of the queue as tabs: its causes, all of it, and each state, those that need a person first.
struct QueueTabs {
  /// Each tab with the states that it shows; nil: the causes.
  private let parts: [(states: Set<OperationState>?, item: Tabs.Item)]

  /// - Parameters:
  ///   - list: the list that is shown; nil: the causes are.
  ///   - hasCauses: whether the causes have a tab where there are any.
  init(_ world: World, _ list: QueueList?, hasCauses: Bool = false) {
    let selected = list?.listing.states
    guard let queue = world.status?.queue else {
      parts = []
      return
    }
    func tab(_ label: String, _ count: Int?, short: Character? = nil, role: StyleRole = .text, isSelected: Bool)
      -> Tabs.Item
    {
      let number = count.map(Format.number)
      return Tabs.Item(label, short: short, count: number, isEmpty: count == 0, role: role, isSelected: isSelected)
    }
    let states: [OperationState] = [.failed, .conflict, .waiting, .paused, .inFlight, .pending]
    var parts: [(states: Set<OperationState>?, item: Tabs.Item)] = []
    if hasCauses, list == nil || queue.retryable > 0 {
      parts.append((nil, tab("causes", nil, isSelected: list == nil)))
    }
    if selected == OperationState.problems {
      parts.append((selected, tab("problems", list?.page(world)?.total, role: .error, isSelected: true)))
    }
    parts.append(([], tab("all", queue.total, isSelected: selected == [])))
    parts += states.filter { queue.count(of: $0) > 0 || selected == [$0] }.map { state in
      let count = queue.count(of: state)
      let (name, mark) = (Words.state(state.rawValue), state.mark.first)
      return ([state], tab(name, count, short: mark, role: state.role, isSelected: selected == [state]))
    }
    self.parts = parts
  }

  /// The states of the tab that many places to the right; nil: the causes.
  func tab(_ step: Int) -> Set<OperationState>? {
    let tabs = parts.filter { $0.states != OperationState.problems }
    guard !tabs.isEmpty else { return [] }
    let selected = tabs.firstIndex(where: \.item.isSelected) ?? tabs.firstIndex { $0.states == [] } ?? 0
    return tabs[(selected + step + tabs.count) % tabs.count].states
  }

  /// Draws a frame with the tabs at its right, and notes where they are.
  ///
  /// - Parameter list: the list whose filter and marks the title names.
  func draw(
    _ title: StyledText,
    on frame: inout Frame,
    in area: Rect,
    _ world: World,
    _ list: QueueList?,
    isFocused: Bool = true
  ) {
    var title = title
    if let list, !list.filter.text.isEmpty || !list.state.marks.isEmpty { title = title + "  " + list.note(world) }
    var box = Box(title: title, isFocused: isFocused)
    let width = box.noteArea(in: area, frame.grid.glyphs).width
    let needed = parts.lastIndex { $0.states?.isSubset(of: OperationState.problems) ?? true }
    let tabs = Tabs(parts.map(\.item), keeping: (needed ?? -1) + 1)
    box.note = tabs.text(width: width, frame.grid.glyphs)
    box.draw(on: &frame.grid, in: area)
    let place = box.notePlace(in: area, frame.grid.glyphs)
    for (item, cells) in tabs.places(width: width, frame.grid.glyphs) where !place.isEmpty {
      let cells = Rect(x: place.x + cells.lowerBound, y: place.y, width: cells.count, height: 1)
      frame.addTarget(parts[item].states.map { .tab($0) } ?? .command(.causes), in: cells)
    }
  }
}
