internal import CloudKitMacroExpansion
internal import SwiftCompilerPlugin
internal import SwiftSyntaxMacros

/// The compiler plugin that expands the macros of `CloudKitModelMacros`.
///
/// It contains nothing else: if a test depends on a plugin target, SwiftPM compiles all tests and their dependencies
/// twice.
@main
struct Plugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [CKModelMacro.self, CKFieldMacro.self, CKSystemMacro.self]
}

struct CKModelMacro: ModelMacro {}
struct CKFieldMacro: PropertyMacro {}
struct CKSystemMacro: PropertyMacro {}
