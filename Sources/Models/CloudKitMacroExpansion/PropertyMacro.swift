internal import SwiftDiagnostics
public import SwiftSyntax
public import SwiftSyntaxMacros

/// The macros `@CKField` and `@CKSystem`. They generate nothing; `@CKModel` reads the attributes. They only diagnose
/// uses that have no effect.
public protocol PropertyMacro: PeerMacro {}

extension PropertyMacro {
  /// Diagnoses an attribute that has no effect.
  public static func expansion(
    of node: AttributeSyntax,
    providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let stored = declaration.as(VariableDeclSyntax.self).map(StoredProperty.all) ?? []
    let type = context.lexicalContext.first?.asProtocol((any WithAttributesSyntax).self)
    let name = node.attributeName.lastName
    if stored.isEmpty {
      diagnose(node, "@\(name) can only be applied to a stored property.", context)
    } else if type?.attribute(named: "CKModel") == nil {
      diagnose(node, "@\(name) can only be used inside a type marked @CKModel.", context)
    }
    return []
  }

  private static func diagnose(_ node: AttributeSyntax, _ text: String, _ context: some MacroExpansionContext) {
    context.diagnose(Diagnostic(node: node, message: MacroExpansionErrorMessage(text)))
  }
}
