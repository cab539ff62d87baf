// The modules that `import CloudKit` also imports on Apple's systems, which existing code relies on.
@_exported public import CloudKit
// The credentials, transports and the cache, which belong to the client of Web Services.
@_exported public import CloudKitWebServices
@_exported public import Foundation

@_exported public import protocol OpenCombine.ObservableObject
@_exported public import struct OpenCombine.Published
