// What `import CloudKit` brings along on Apple's systems, and published code relies on.
@_exported public import CloudKit
@_exported public import Foundation

@_exported public import protocol CombineShim.ObservableObject
@_exported public import struct CombineShim.Published
