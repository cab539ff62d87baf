internal import CloudKitMacroExpansion
internal import SwiftCompilerPlugin
internal import SwiftSyntaxMacros

/// What the compiler starts to expand the macros of `CloudKitModelMacros`.
///
/// There is nothing else here: as soon as a test depends on such a target, SwiftPM compiles all tests, and all that they
/// depend on, a second time.
@main
struct Plugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [CKModelMacro.self, CKFieldMacro.self]
}

struct CKModelMacro: ModelMacro {}
struct CKFieldMacro: FieldMacro {}
