/// A property of a class that publishes its current value and every new value.
///
/// As on Apple's systems, subscribers receive a new value before the property changes.
@propertyWrapper
public struct Published<Value> {
  private let storage: Storage

  /// Creates a property with a value.
  public init(wrappedValue: Value) { storage = Storage(wrappedValue) }

  /// Creates a property with a value.
  public init(initialValue: Value) { self.init(wrappedValue: initialValue) }

  /// The value of the property of an object. The compiler uses this subscript.
  public static subscript<Object: AnyObject>(
    _enclosingInstance object: Object,
    wrapped wrapped: ReferenceWritableKeyPath<Object, Value>,
    storage storage: ReferenceWritableKeyPath<Object, Published<Value>>
  ) -> Value {
    get { object[keyPath: storage].storage.current }
    set { object[keyPath: storage].storage.set(newValue) }
  }

  /// Unavailable: the property is accessed through its object.
  @available(*, unavailable, message: "@Published can only be applied to properties of classes.")
  public var wrappedValue: Value {
    get { storage.current }
    nonmutating set { storage.set(newValue) }
  }

  /// A publisher of the current value and every new value, before the property changes.
  public var projectedValue: Publisher { Publisher(storage: storage) }

  /// The publisher of a published property.
  public struct Publisher: CombineShim.Publisher {
    /// The property's type.
    public typealias Output = Value
    /// The publisher cannot fail.
    public typealias Failure = Never

    fileprivate let storage: Storage

    /// Publishes the current value, then every new value before the property changes.
    public func sink(
      receiveCompletion: @escaping (Subscribers.Completion<Never>) -> Void,
      receiveValue: @escaping (Value) -> Void
    ) -> AnyCancellable {
      storage.receivers.add(receiveCompletion, receiveValue) { receiveValue(storage.current) }
    }
  }

  /// The value and its subscribers, shared by all copies of the wrapper.
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
  /// The publisher of the property's object, once it has been requested.
  var willChange: ObservableObjectPublisher? { get nonmutating set }
}

extension Published: PublishedProperty {
  var willChange: ObservableObjectPublisher? {
    get { storage.willChange.change { $0 } }
    nonmutating set { storage.willChange.change { $0 = newValue } }
  }
}
