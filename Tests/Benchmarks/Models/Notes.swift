import CloudKitModelMacros
import Foundation

enum Kind: String, Codable { case short, long }

/// Ten fields of mixed types, coded by the compiler's `Codable`.
struct PlainNote: Codable, Equatable, Identifiable, CKRecordModel {
  var id: UUID
  var title: String
  var body: String
  var kind: Kind
  var count: Int
  var isDone: Bool
  var price: Double
  var due: Date?
  var digest: Data
  var link: URL
  var tags: [String]
}

/// The same, coded by the macro.
@CKModel
struct MacroNote: Equatable {
  var id: UUID
  var title: String
  var body: String
  var kind: Kind
  var count: Int
  var isDone: Bool
  var price: Double
  var due: Date?
  var digest: Data
  var link: URL
  var tags: [String]
}

extension PlainNote {
  static func sample() -> PlainNote {
    guard let link = URL(string: "https://example.org/a?b=c") else { preconditionFailure("The URL is valid.") }
    return PlainNote(
      id: UUID(),
      title: "Groceries for week 7",
      body: "Milk, crème fraîche and \"good\" bread\nand whatever else there is on the shelf.",
      kind: .long,
      count: 7919,
      isDone: true,
      price: 12.75,
      due: Date(timeIntervalSince1970: 1_767_322_800.5),
      digest: Data(0..<32),
      link: link,
      tags: ["home", "weekly", "shop"]
    )
  }
}

extension MacroNote {
  init(_ note: PlainNote) {
    self.init(
      id: note.id,
      title: note.title,
      body: note.body,
      kind: note.kind,
      count: note.count,
      isDone: note.isDone,
      price: note.price,
      due: note.due,
      digest: note.digest,
      link: note.link,
      tags: note.tags
    )
  }
}
