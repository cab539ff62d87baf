import CloudKitMacroExpansion
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

private struct Model: ModelMacro {}
private struct Property: PropertyMacro {}

private let specs: [String: MacroSpec] = [
  "CKModel": MacroSpec(
    type: Model.self,
    conformances: ["CKFieldModel", "Decodable", "Encodable", "Identifiable"]
  ),
  "CKField": MacroSpec(type: Property.self),
  "CKSystem": MacroSpec(type: Property.self),
]

/// Expects what the source with macros becomes.
func expectExpansion(
  of source: String,
  _ expanded: String,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) {
  assertMacroExpansion(
    source,
    expandedSource: expanded,
    macroSpecs: specs,
    indentationWidth: .spaces(2),
    failureHandler: record,
    fileID: fileID,
    filePath: filePath,
    line: line,
    column: column
  )
}

/// Expects that the source is refused with these diagnostics, and that nothing is made.
func expectRefusal(
  of source: String,
  _ diagnostics: DiagnosticSpec...,
  fixed: String? = nil,
  fileID: StaticString = #fileID,
  filePath: StaticString = #filePath,
  line: UInt = #line,
  column: UInt = #column
) {
  let attributes = #/@CK(Model|Field|System)(\([^)]*\))? ?\n? */#
  assertMacroExpansion(
    source,
    expandedSource: source.replacing(attributes, with: ""),
    diagnostics: diagnostics,
    macroSpecs: specs,
    fixedSource: fixed,
    indentationWidth: .spaces(2),
    failureHandler: record,
    fileID: fileID,
    filePath: filePath,
    line: line,
    column: column
  )
}

private func record(_ failure: TestFailureSpec) {
  let place = failure.location
  Issue.record(
    Comment(rawValue: failure.message),
    sourceLocation: SourceLocation(
      fileID: place.fileID,
      filePath: place.filePath,
      line: place.line,
      column: place.column
    )
  )
}
