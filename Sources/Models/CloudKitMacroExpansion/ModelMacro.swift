public import SwiftSyntax
internal import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// The `@CKModel` macro, which makes a type a record model.
///
/// Nearly all members are generated in an extension, so that a struct keeps its memberwise initializer. The
/// initializers of a class are not allowed there and are generated as members. Only the extension role reports
/// problems.
public protocol ModelMacro: ExtensionMacro, MemberMacro {}

extension ModelMacro {
  /// Generates the extension, or reports problems.
  public static func expansion(
    of node: AttributeSyntax,
    attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol,
    conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    let reader = ModelReader(node, on: declaration, in: context)
    guard reader.problems.isEmpty else {
      reader.problems.forEach(context.diagnose)
      return []
    }
    return [try reader.model.extended(type, conformingTo: protocols)]
  }

  /// Generates the initializers of a class.
  public static func expansion(
    of node: AttributeSyntax,
    providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let reader = ModelReader(node, on: declaration, in: context)
    guard reader.problems.isEmpty, reader.model.isClass else { return [] }
    var members: [DeclSyntax] = []
    if reader.model.makesEmptyInitializer { members.append("init() {}") }
    if reader.model.makesDecoding { members.append("\(raw: reader.model.decoding)") }
    return members
  }
}
