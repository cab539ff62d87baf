/// A walk from nodes to those that they lead to, depth first. It is a loop, because a chain can be long.
struct GraphWalk<Node: Hashable, Label: Hashable> {
  private enum State {
    case open, done(level: Int)
  }

  private let edges: (Node) -> [(label: Label, target: Node)]
  private var states: [Node: State] = [:]
  /// The nodes that lead to no other, then those that lead only to these, and so on.
  private(set) var levels: [[Node]] = []
  /// The edges that close a cycle, by the node where they begin. They do not count for the levels.
  private(set) var cut: [Node: Set<Label>] = [:]

  init(_ edges: @escaping (Node) -> [(label: Label, target: Node)]) { self.edges = edges }

  /// Adds a node with everything that it leads to.
  mutating func visit(_ root: Node) {
    guard states[root] == nil else { return }
    states[root] = .open
    var stack = [(node: root, edges: edges(root)[...], level: 0)]
    while let last = stack.indices.last {
      guard let edge = stack[last].edges.popFirst() else {
        let (node, _, level) = stack.removeLast()
        finish(node, level: level)
        if let last = stack.indices.last { stack[last].level = max(stack[last].level, level + 1) }
        continue
      }
      switch states[edge.target] {
      case .open?: cut[stack[last].node, default: []].insert(edge.label)
      case .done(let level)?: stack[last].level = max(stack[last].level, level + 1)
      case nil:
        states[edge.target] = .open
        stack.append((edge.target, edges(edge.target)[...], 0))
      }
    }
  }

  private mutating func finish(_ node: Node, level: Int) {
    states[node] = .done(level: level)
    while levels.count <= level { levels.append([]) }
    levels[level].append(node)
  }

  /// Returns whether one of the nodes, or of those that they lead to, leads back to itself.
  func hasCycle(from roots: [Node]) -> Bool {
    var walk = self
    for root in roots { walk.visit(root) }
    return !walk.cut.isEmpty
  }
}
