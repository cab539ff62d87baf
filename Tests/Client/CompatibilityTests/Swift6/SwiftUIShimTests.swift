import SwiftUI
import Testing

// A model in the style of apps: it imports SwiftUI for what SwiftUI exports, and its views are elsewhere.

@Observable private final class NoteList {
  var titles: [String] = []
  let due = Date(timeIntervalSince1970: 1)
}

private final class OlderNoteList: ObservableObject {
  @Published var titles: [String] = []
  var cancellables: Set<AnyCancellable> = []
}

@Suite struct SwiftUIShimTests {
  @Test func `a model that imports SwiftUI has Observation and Combine`() {
    let (list, older) = (NoteList(), OlderNoteList())
    var changes = 0
    older.objectWillChange.sink { changes += 1 }.store(in: &older.cancellables)

    list.titles = ["Milk"]
    older.titles = ["Milk"]

    #expect(list.titles == older.titles && changes == 1)
  }
}
