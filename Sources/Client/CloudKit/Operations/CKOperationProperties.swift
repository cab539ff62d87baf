// The wrappers are public because a property wrapper must be as visible as its properties. The accessors reach the
// operation through the static subscript, so that all properties of an operation share its one lock. Swift documents
// the subscript only as a pitch (`_enclosingInstance`); Combine's `Published` relies on it too.

/// A parameter of an operation. Any thread can get and set it.
@propertyWrapper
public struct CKParameter<Value> {
  private var value: Value

  /// Makes a parameter with a default value.
  public init(wrappedValue: Value) { value = wrappedValue }

  /// Makes a parameter that is not set.
  public init() where Value: ExpressibleByNilLiteral { value = nil }

  /// Never used: only operations have parameters.
  @available(*, unavailable) public var wrappedValue: Value {
    get { preconditionFailure("Only operations have parameters.") }
    set { preconditionFailure("Only operations have parameters.") }
  }

  /// The value in an operation.
  public static subscript<Operation: CKOperation>(
    _enclosingInstance operation: Operation,
    wrapped _: ReferenceWritableKeyPath<Operation, Value>,
    storage storage: ReferenceWritableKeyPath<Operation, Self>
  ) -> Value {
    get { operation.propertyLock.withLock { operation[keyPath: storage].value } }
    set {
      // The old value is released outside the lock, because its release may run the program's code.
      var value = newValue
      operation.propertyLock.withLock { swap(&operation[keyPath: storage].value, &value) }
    }
  }
}

/// A block of an operation. Any thread can get and set it. The operation releases it after its last call, because
/// blocks often reference their operation.
@propertyWrapper
public struct CKCallback<Block> {
  private var block: Block?

  /// Makes a callback that is not set.
  public init() {}

  /// Never used: only operations have callbacks.
  @available(*, unavailable) public var wrappedValue: Block? {
    get { preconditionFailure("Only operations have callbacks.") }
    set { preconditionFailure("Only operations have callbacks.") }
  }

  /// The block in an operation.
  public static subscript<Operation: CKOperation>(
    _enclosingInstance operation: Operation,
    wrapped wrapped: ReferenceWritableKeyPath<Operation, Block?>,
    storage storage: ReferenceWritableKeyPath<Operation, Self>
  ) -> Block? {
    get { operation.propertyLock.withLock { operation[keyPath: storage].block } }
    set {
      var block = newValue
      operation.propertyLock.withLock {
        swap(&operation[keyPath: storage].block, &block)
        guard block == nil, newValue != nil else { return }
        operation.releases.append { [unowned operation] in
          Self[_enclosingInstance: operation, wrapped: wrapped, storage: storage] = nil
        }
      }
    }
  }
}
