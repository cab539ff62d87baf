import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The fields of a failed save, to be edited and sent again. An edit is checked against the field's type as soon as it
/// is typed, and once more by the store.
struct EditScreen: CursorScreen {
  let id: Int64
  /// The assignments typed so far, by field.
  private(set) var edits: [String: FieldAssignment] = [:]
  var list = ListState<String>()
  private var line: InputLine?
  /// The mistake in the line.
  private var problem: String?
  /// The state that was shown when the first edit was begun; the store refuses to edit another one.
  private var version: SyncStore.EditedVersion?
  private var hasWarned = false
  /// Whether its change was given back to the queue.
  private(set) var isDone = false

  init(_ id: Int64) { self.id = id }

  /// A field that can be edited.
  private struct Field: Hashable, Sendable {
    var id: String
    var local: FieldValue?
    var server: FieldValue?
    /// Whether the failed change sets or clears it.
    var isChanged: Bool

    /// The type that the field must have, as far as it is known.
    var knownType: String?

    /// Whether the server cannot take the value for its type.
    var hasWrongType: Bool { isChanged && local != nil && knownType != nil && local?.wireType != knownType }

    /// The value that an edit gives it; nil if it clears it.
    func value(of edit: FieldAssignment) -> FieldValue? {
      ((try? edit.value(knownType: knownType)) ?? nil)?.completed(from: local)
    }
  }

  var title: String? { "Edit \(id)" }
  var scopes: KeyScope { [.everywhere, .moving, .editing, .fields, .syncing, .closing] }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.operation = id
    scope.fieldTypes = detail(world)?.operation?.type
    return scope
  }

  private func detail(_ world: World) -> OperationDetail? { world.data.operation?[id] ?? nil }

  private func fields(_ world: World) -> [Field] {
    guard let detail = detail(world), let operation = detail.operation else { return [] }
    let server = detail.server?.fields ?? [:]
    let types = world.data.fieldTypes?.value ?? [:]
    let changed = operation.changes.names
    let names = changed.sorted() + Set(server.keys).union(edits.keys).subtracting(changed).sorted()
    // A parent is not typed.
    return names.filter { $0 != FieldChanges.parent }.map { name in
      let local = changed.contains(name) ? operation.changes[name] : server[name]
      return Field(
        id: name,
        local: local,
        server: server[name],
        isChanged: changed.contains(name),
        knownType: server[name]?.wireType ?? types[name]
      )
    }
  }

  private func area(_ world: World) -> (head: Rect, table: Rect) {
    let inside = Box.text(world.body)
    let parts = inside.rows([.fixed(inside.height >= Breakpoint.wholeDetail ? 4 : 3), .flexible])
    return (parts[0], parts[1])
  }

  func visible(_ world: World) -> Int { Table.visibleRows(in: area(world).table) }

  func ids(_ world: World) -> [String] { fields(world).map(\.id) }

  private func selected(_ world: World) -> Field? {
    let fields = fields(world)
    return fields.indices.contains(list.cursor) ? fields[list.cursor] : nil
  }

  func isWaiting(_ world: World) -> Bool {
    guard world.readFailure == nil else { return false }
    guard world.data.operation?.id == id else { return true }
    // The types decide how a value is read.
    return detail(world)?.operation.map { world.data.fieldTypes?.id != $0.type } ?? false
  }

  var hasUnsavedEdits: Bool { !edits.isEmpty }

  /// The version of the operation and of the server's record that is shown.
  private func readVersion(_ world: World) -> SyncStore.EditedVersion? {
    guard let detail = detail(world), let operation = detail.operation else { return nil }
    return SyncStore.EditedVersion(
      operation: operation.version(serverTag: nil),
      serverTag: .some(detail.server?.changeTag)
    )
  }

  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    hasWarned = false
    list.move(by: id, .init(ids(world)), visible: visible(world))
    return []
  }

  func subject(_ world: World) -> Subject {
    guard let field = selected(world) else { return Subject(missing: "No field is selected") }
    return Subject(whole: { whole(field, world) })
  }

  private func whole(_ field: Field, _ world: World) -> ValueScreen {
    var values = [("Local", field.local, StyleRole.local), ("Server", field.server, .server)]
    if let edit = edits[field.id] { values.insert(("Edited", field.value(of: edit), .ok), at: 0) }
    return ValueScreen(field.id, values.map { ($0.0, $0.1?.text(world.format) ?? "–", $0.2) })
  }

  mutating func back(_ world: World) -> [Step] {
    if edits.isEmpty || hasWarned { return [.pop] }
    hasWarned = true
    let save = world.keys.name(of: .saveEdit)
    return [.failure("\(save) saves the edits and sends the change again; Esc drops them now")]
  }

  fileprivate mutating func editSelected(_ world: World) -> [Step] {
    guard let field = selected(world) else { return [] }
    guard edits[field.id] != nil || field.local == nil || field.local?.assigned(world.format) != nil else {
      return [.failure("\(field.id) is \(field.local?.wireType ?? ""), which cannot be typed")]
    }
    return begin(edits[field.id]?.written ?? Self.written(field, world.format), world)
  }

  fileprivate mutating func resetSelected(_ world: World) -> [Step] {
    hasWarned = false
    if let field = selected(world) { edits[field.id] = nil }
    return []
  }

  fileprivate func save(_ world: World) -> [Step] {
    guard let version = version ?? readVersion(world), !edits.isEmpty else {
      return [.failure("Nothing is edited yet; \(world.keys.name(of: .editField)) edits the selected field")]
    }
    return [.effect(.give(.edit(id, edits.values.sorted { $0.name < $1.name }, version: version)))]
  }

  fileprivate mutating func begin(_ text: String, _ world: World) -> [Step] {
    hasWarned = false
    if edits.isEmpty || version == nil { version = readVersion(world) }
    let name = text.firstIndex(of: "=").map { text[...$0].count } ?? 0
    (line, problem) = (InputLine(prompt: "FIELD=VALUE  ", text: text, kept: name), nil)
    return []
  }

  /// The field as an assignment; its type is named where no record has it.
  private static func written(_ field: Field, _ format: Format) -> String {
    let type = field.knownType == nil ? (field.local?.wireType).map { ":\($0)" } ?? "" : ""
    return "\(field.id)\(type)=\(field.local?.assigned(format) ?? "")"
  }

  mutating func type(_ key: Key, _ world: World) -> [Step]? {
    guard var line else { return nil }
    switch key {
    case .escape: self.line = nil
    case .enter:
      do {
        let assignment = try FieldAssignment(parsing: line.text)
        let known =
          fields(world).first { $0.id == assignment.name }?.knownType
          ?? world.data.fieldTypes?.value?[assignment.name]
        _ = try assignment.value(knownType: known)
        edits[assignment.name] = assignment
        self.line = nil
      } catch {
        problem = error.message
      }
    default:
      guard line.handle(key) else { return [] }
      (self.line, problem) = (line, nil)
    }
    return []
  }

  func prompt(_ world: World) -> Prompt? {
    let help = StyledText("FIELD=VALUE, FIELD:TYPE=VALUE, FIELD= clears", .dim)
    return line.map { Prompt(input: $0, note: problem.map { StyledText($0, .error) } ?? help) }
  }

  mutating func apply(_ receipt: Receipt) {
    guard case .edit(id, _, _) = receipt.command else { return }
    // After a refusal the edits are of what is shown now.
    version = nil
    if receipt.failure == nil { (edits, isDone) = ([:], true) }
  }

  /// Why nothing can be edited; nil if it can.
  fileprivate func uneditable(_ world: World) -> String? {
    guard let detail = detail(world), let operation = detail.operation else {
      return Command.isGone
    }
    return QueueRow(operation, serverTag: detail.server?.changeTag).obstacle(to: .edit)
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    frame.grid.fill(area)
    let note = edits.isEmpty ? "" : "\(Words.count(edits.count, "field")) edited, not saved"
    Box(title: StyledText("Edit operation \(id)"), note: StyledText(note, .warning), isFocused: true)
      .draw(on: &frame.grid, in: area)
    let (head, table) = self.area(world)
    if let operation = detail(world)?.operation {
      let lines =
        wrap(
          StyledText(operation.kind.phrase(operation.type, operation.key).sentence, .strong),
          to: head.width,
          frame.grid.glyphs
        )
        + wrap(
          StyledText(world.why(operation.cause).sentence, operation.state.role).oneLine,
          to: head.width,
          frame.grid.glyphs
        )
      for (row, text) in lines.prefix(max(0, head.height - 1)).enumerated() { frame.grid.put(text, in: head.row(row)) }
    }
    let columns = [
      Table.Column("FIELD", .flex(2), minimum: 8, priority: 9), Table.Column("TYPE", .fixed(10), priority: 3),
      Table.Column("SERVER", .flex(3), minimum: 8, priority: 2),
      Table.Column("LOCAL", .flex(3), minimum: 8, priority: 7),
      Table.Column("EDITED", .flex(3), minimum: 8, priority: 8),
    ]
    let fields = world.data.operation?.id == id ? fields(world) : nil
    let rows = (fields ?? []).dropFirst(list.offset).map { field in
      let edit = edits[field.id].map { edit in
        field.value(of: edit).map { StyledText($0.text(world.format), .ok) }
          ?? StyledText("cleared", .ok)
      }
      return Table.Row(
        [
          StyledText(field.id, field.isChanged ? .local : .text),
          StyledText(field.knownType ?? field.local?.wireType ?? "", .dim),
          StyledText(field.server?.text(world.format) ?? "–", .server),
          StyledText(
            field.local?.text(world.format) ?? "–",
            field.hasWrongType ? .error : field.isChanged ? .local : .dim
          ),
          edit ?? "",
        ],
        mark: edit == nil ? "" : StyledText("*", .ok)
      )
    }
    list.table(columns, rows, of: rows.count + list.offset, empty: fields == nil ? world.loading : Command.isGone)
      .draw(on: &frame, in: table)
  }
}

extension Command {
  static let editing: [Command] = [
    edit(.editField, "Enter", "edit", "Edit the selected field") { $0.editSelected($1) },
    edit("newField", "a", "add field", "Set a field that is not listed") { $0.begin("", $1) },
    edit("resetField", "u", "reset", "Drop the edit of the selected field", []) { $0.resetSelected($1) }
      .unless(EditScreen.unselected),
    edit(.saveEdit, "r", "save and retry", "Save the edits and send the change again", [.change, .decides]) {
      $0.save($1)
    },
  ]

  private static func edit(
    _ id: CommandID,
    _ key: String,
    _ title: String,
    _ help: String,
    _ traits: Traits = .change,
    run: @escaping @Sendable (inout EditScreen, World) -> [Step]
  ) -> Command {
    Command(id, key, title, help, .editing, traits).unless(EditScreen.uneditable).run(run)
  }
}
