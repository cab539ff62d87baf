public import Foundation

/// A file that belongs to a record and is stored beside it.
///
/// An asset read from the server has no `fileURL`; its descriptor is kept, so that the record can be written back
/// without losing it.
public final class CKAsset: NSObject, NSSecureCoding, NSCopying, CKRecordValue, Sendable {
  /// The local file; nil for an asset that is on the server only.
  public let fileURL: URL?
  /// The descriptor that the server gave.
  package let wire: WireAsset?

  /// Makes an asset of a local file.
  public init(fileURL: URL) {
    self.fileURL = fileURL
    wire = nil
  }

  package init(wire: WireAsset) {
    fileURL = nil
    self.wire = wire
  }

  /// Reads an archived asset. One that Apple's framework archived on the server only has neither file nor descriptor.
  public init?(coder: NSCoder) {
    fileURL =
      coder.string(forKey: "AssetFilePath").map { URL(fileURLWithPath: $0) }
      // In an archive of Apple's.
      ?? coder.object(NSURL.self, forKey: "AssetFileURL").map { $0 as URL }
    wire = coder.object(NSData.self, forKey: "AssetDescriptor").flatMap {
      try? JSONDecoder().decode(WireAsset.self, from: Data(referencing: $0))
    }
  }

  /// Archives the file's path and the descriptor, not the file.
  public func encode(with coder: NSCoder) {
    if let fileURL { coder.encode(NSString(string: fileURL.path), forKey: "AssetFilePath") }
    if let wire, let data = try? JSONEncoder().encode(wire) {
      coder.encode(NSData(data: data), forKey: "AssetDescriptor")
    }
  }

  /// Always true.
  public static var supportsSecureCoding: Bool { true }
  /// The asset itself, which never changes.
  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// The file, or the size that the server reports.
  public override var description: String {
    if let fileURL { return "<CKAsset \(fileURL.lastPathComponent)>" }
    return "<CKAsset \(wire?.size.map { "\($0) bytes" } ?? "on the server")>"
  }
}
