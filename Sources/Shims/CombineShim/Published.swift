/// A property of a class that tells its value, and everything that it is set to.
///
/// As on Apple's systems, subscribers hear of a value before the property has it.
@propertyWrapper
public struct Published<Value> {
  private let storage: Storage

  /// Makes a property with a value.
  public init(wrappedValue: Value) { storage = Storage(wrappedValue) }

  /// Makes a property with a value.
  public init(initialValue: Value) { self.init(wrappedValue: initialValue) }

  /// Reads and sets the property of an object. The compiler calls this.
  public static subscript<Object: AnyObject>(
    _enclosingInstance object: Object,
    wrapped wrapped: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Published<Value>>
  ) -> Value {
    get { object[keyPath: storage].storage.current }
    set { object[keyPath: storage].storage.set(newValue) }
  }

  /// Never called: the property of an object is reached with the object.
  @available(*, unavailable, message: "@Published is for properties of classes.")
  public var wrappedValue: Value {
    get { storage.current }
    nonmutating set { storage.set(newValue) }
  }

  /// The property as a publisher: its value, then every value that it is about to have.
  public var projectedValue: Publisher { Publisher(storage: storage) }

  /// A published property as a publisher.
  public struct Publisher: CombineShim.Publisher {
    /// What the property holds.
    public typealias Output = Value
    /// It cannot fail.
    public typealias Failure = Never

    fileprivate let storage: Storage

    /// Hands over the value, then every value that the property is about to have.
    public func sink(
      receiveCompletion: @escaping (Subscribers.Completion<Never>) -> Void,
      receiveValue: @escaping (Value) -> Void
    ) -> AnyCancellable {
      storage.receivers.add(receiveCompletion, receiveValue) { receiveValue(storage.current) }
    }
  }

  /// The value and who listens: shared by all copies of the wrapper, as the property is one.
  fileprivate final class Storage {
    let receivers = Receivers<Value, Never>()
    let willChange = Locked<ObservableObjectPublisher?>(nil)
    private let value: Locked<Value>

    init(_ value: Value) { self.value = Locked(value) }

    var current: Value { value.change { $0 } }

    func set(_ new: Value) {
      willChange.change { $0 }?.send()
      receivers.send(new)
      value.change { $0 = new }
    }
  }
}

/// A published property of any type, as `ObservableObject` finds it in an object.
protocol PublishedProperty {
  /// The publisher of the object that it belongs to, once somebody has asked for it.
  var willChange: ObservableObjectPublisher? { get nonmutating set }
}

extension Published: PublishedProperty {
  var willChange: ObservableObjectPublisher? {
    get { storage.willChange.change { $0 } }
    nonmutating set { storage.willChange.change { $0 = newValue } }
  }
}
