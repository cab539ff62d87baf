public import SwiftSyntax
internal import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// `@CKModel`: makes a type a model of records.
///
/// Nearly everything is made in an extension, so that a struct keeps its memberwise initializer. A class's initializers
/// cannot stand there: they are made as members. That role is silent, since the other one tells what is wrong.
public protocol ModelMacro: ExtensionMacro, MemberMacro {}

extension ModelMacro {
  /// Makes the extension, or tells what is wrong.
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

  /// Makes a class's initializers.
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
