@_exported public import OpenCombine
@_exported public import OpenCombineDispatch
@_exported public import OpenCombineFoundation

// Apple's is Sendable.
extension AnyCancellable: @retroactive @unchecked Sendable {}
