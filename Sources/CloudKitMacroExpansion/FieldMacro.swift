internal import SwiftDiagnostics
public import SwiftSyntax
public import SwiftSyntaxMacros

/// `@CKField`: makes nothing. `@CKModel` reads it; here it is only told off where nobody would.
public protocol FieldMacro: PeerMacro {}

extension FieldMacro {
  /// Tells what is wrong.
  public static func expansion(
    of node: AttributeSyntax,
    providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let stored = declaration.as(VariableDeclSyntax.self).map(StoredProperty.all) ?? []
    let type = context.lexicalContext.first?.asProtocol((any WithAttributesSyntax).self)
    if stored.isEmpty {
      diagnose(node, "@CKField names the field of a stored property.", context)
    } else if type?.attribute(named: "CKModel") == nil {
      diagnose(node, "@CKField means something in a type with @CKModel only.", context)
    }
    return []
  }

  private static func diagnose(_ node: AttributeSyntax, _ text: String, _ context: some MacroExpansionContext) {
    context.diagnose(Diagnostic(node: node, message: MacroExpansionErrorMessage(text)))
  }
}
