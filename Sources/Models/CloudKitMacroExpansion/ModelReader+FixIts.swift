internal import SwiftDiagnostics
internal import SwiftSyntax
internal import SwiftSyntaxBuilder
internal import SwiftSyntaxMacros

extension ModelReader {
  /// Reports properties that are declared as a tuple, and offers to declare each by itself.
  mutating func reportTuple(_ binding: PatternBindingSyntax) {
    let fixIts = binding.separated.map { separated in
      FixIt.replace(
        message: MacroExpansionFixItMessage("Declare each property by itself"),
        oldNode: binding,
        newNode: separated
      )
    }
    report(
      binding.pattern,
      "A stored property of a model cannot be part of a tuple.",
      fixIts: fixIts.map { [$0] } ?? []
    )
  }
}

extension PatternBindingSyntax {
  /// The parts of a tuple as bindings of their own; nil if they cannot be read from the source.
  fileprivate var separated: PatternBindingListSyntax? {
    guard let tuple = pattern.as(TuplePatternSyntax.self) else { return nil }
    let names = tuple.elements.compactMap { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.text }
    var parts = names
    if let type = typeAnnotation?.type {
      let types = type.as(TupleTypeSyntax.self)?.elements.map(\.type.trimmedDescription) ?? []
      parts = zip(parts, types).map { "\($0): \($1)" }
    }
    if let value = initializer?.value {
      let values = value.as(TupleExprSyntax.self)?.elements.map(\.expression.trimmedDescription) ?? []
      parts = zip(parts, values).map { "\($0) = \($1)" }
    }
    guard parts.count == tuple.elements.count else { return nil }
    var bindings = DeclSyntax("var \(raw: parts.joined(separator: ", "))").cast(VariableDeclSyntax.self).bindings
    let last = bindings.index(before: bindings.endIndex)
    bindings[last].trailingComma = trailingComma
    bindings[last].trailingTrivia = trailingTrivia
    return bindings
  }
}

extension DeclGroupSyntax {
  /// The change that gives a model an identity of its own, as its first member.
  var addingIdentity: FixIt {
    let members = memberBlock.members
    var changed = members
    // Members on the line of the brace stay together.
    let leading = members.first?.leadingTrivia ?? []
    var identity = MemberBlockItemSyntax(decl: DeclSyntax("var id = UUID()"))
    if leading.contains(where: \.isNewline) {
      identity.leadingTrivia = .newline + Trivia(pieces: leading.reversed().prefix(while: \.isSpaceOrTab))
    } else {
      identity.semicolon = .semicolonToken(trailingTrivia: .space)
    }
    changed.insert(identity, at: changed.startIndex)
    return .replace(
      message: MacroExpansionFixItMessage("Add 'var id = UUID()'"),
      oldNode: members,
      newNode: changed
    )
  }
}
