/// An array of pointers, which Foundation on Linux lacks: of objects that it keeps alive, or of weak ones.
///
/// A pointer is an object's address, as `Unmanaged.passUnretained(_:).toOpaque()` gives it.
public final class NSPointerArray: NSObject, NSCopying {
  private struct Slot {
    var strong: AnyObject?
    weak var weak: AnyObject?
    var object: AnyObject? { strong ?? weak }
  }

  private let isStrong: Bool
  private var slots: [Slot] = []

  private init(isStrong: Bool) { self.isStrong = isStrong }

  /// Makes an array that keeps its objects alive.
  public class func strongObjects() -> NSPointerArray { NSPointerArray(isStrong: true) }
  /// Makes an array whose elements turn to nil when nobody else keeps them.
  public class func weakObjects() -> NSPointerArray { NSPointerArray(isStrong: false) }

  /// How many elements there are, nil ones too. Growing adds nil, shrinking drops from the end.
  public var count: Int {
    get { slots.count }
    set {
      while slots.count < newValue { slots.append(Slot()) }
      slots.removeLast(slots.count - max(newValue, 0))
    }
  }

  /// The objects that are there.
  public var allObjects: [Any] { slots.compactMap(\.object) }

  /// The element at an index, which has to exist.
  public func pointer(at index: Int) -> UnsafeMutableRawPointer? {
    slots[index].object.map { Unmanaged.passUnretained($0).toOpaque() }
  }

  /// Adds an element at the end.
  public func addPointer(_ pointer: UnsafeMutableRawPointer?) { slots.append(slot(pointer)) }

  /// Puts an element in at an index, which has to exist or be the end.
  public func insertPointer(_ item: UnsafeMutableRawPointer?, at index: Int) { slots.insert(slot(item), at: index) }

  /// Puts an element in place of the one at an index, which has to exist.
  public func replacePointer(at index: Int, withPointer item: UnsafeMutableRawPointer?) { slots[index] = slot(item) }

  /// Removes the element at an index, which has to exist.
  public func removePointer(at index: Int) { slots.remove(at: index) }

  /// Removes the elements that are nil.
  public func compact() { slots.removeAll { $0.object == nil } }

  /// An array of its own with the same elements.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSPointerArray(isStrong: isStrong)
    copy.slots = slots
    return copy
  }

  private func slot(_ pointer: UnsafeMutableRawPointer?) -> Slot {
    let object = pointer.map { Unmanaged<AnyObject>.fromOpaque($0).takeUnretainedValue() }
    return Slot(strong: isStrong ? object : nil, weak: object)
  }
}
