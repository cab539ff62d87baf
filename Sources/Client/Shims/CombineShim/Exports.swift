@_exported public import OpenCombine
@_exported public import OpenCombineDispatch
@_exported public import OpenCombineFoundation

// Apple's is Sendable, and published code relies on it. It is immutable but for `cancel()`, which OpenCombine does not
// lock: as with its other classes, cancel from one thread at a time.
extension AnyCancellable: @retroactive @unchecked Sendable {}
