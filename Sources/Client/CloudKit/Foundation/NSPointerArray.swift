/// An array of strong or weak references, which Foundation on Linux lacks.
///
/// A pointer is an object's address, as returned by `Unmanaged.passUnretained(_:).toOpaque()`.
public final class NSPointerArray: NSObject, NSCopying {
  private struct Slot {
    var strong: AnyObject?
    weak var weak: AnyObject?
    var object: AnyObject? { strong ?? weak }
  }

  private let isStrong: Bool
  private var slots: [Slot] = []

  private init(isStrong: Bool) { self.isStrong = isStrong }

  /// Makes an array that holds its objects strongly.
  public class func strongObjects() -> NSPointerArray { NSPointerArray(isStrong: true) }
  /// Makes an array that holds its objects weakly: an element becomes nil when its object is released.
  public class func weakObjects() -> NSPointerArray { NSPointerArray(isStrong: false) }

  /// The number of elements, including nil ones. Increasing it appends nil; decreasing it removes elements from the
  /// end.
  public var count: Int {
    get { slots.count }
    set {
      while slots.count < newValue { slots.append(Slot()) }
      slots.removeLast(slots.count - max(newValue, 0))
    }
  }

  /// The elements that are not nil.
  public var allObjects: [Any] { slots.compactMap(\.object) }

  /// Returns the element at an index, which must exist.
  public func pointer(at index: Int) -> UnsafeMutableRawPointer? {
    slots[index].object.map { Unmanaged.passUnretained($0).toOpaque() }
  }

  /// Appends an element.
  public func addPointer(_ pointer: UnsafeMutableRawPointer?) { slots.append(slot(pointer)) }

  /// Inserts an element at an index, which must exist or be the end.
  public func insertPointer(_ item: UnsafeMutableRawPointer?, at index: Int) { slots.insert(slot(item), at: index) }

  /// Replaces the element at an index, which must exist.
  public func replacePointer(at index: Int, withPointer item: UnsafeMutableRawPointer?) { slots[index] = slot(item) }

  /// Removes the element at an index, which must exist.
  public func removePointer(at index: Int) { slots.remove(at: index) }

  /// Removes the elements that are nil.
  public func compact() { slots.removeAll { $0.object == nil } }

  /// Returns an independent array with the same elements.
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
