import TestSupport

/// What a disk holds for certain, and what it was told since and may lose.
///
/// A file's contents are certain up to its last sync, its name up to the last sync that was of its folder as well.
struct Platter {
  /// What happens to a file.
  enum Change: Sendable {
    case create
    case write(offset: Int, bytes: [UInt8])
    case resize(Int)
    /// The contents are made durable; with `name` also every name in the folder.
    case sync(name: Bool)
    case remove(isDurable: Bool)
  }

  private struct File {
    var durable: [UInt8] = []
    var pending: [Change] = []
  }

  private static let sector = 512

  private var files: [File] = []
  private var names: [String: Int] = [:]
  private var durableNames: [String: Int] = [:]
  private var pendingNames: [(name: String, file: Int?)] = []

  mutating func take(_ change: Change, of name: String) {
    switch change {
    case .create:
      files.append(File())
      rename(name, to: files.count - 1)
    case .write, .resize:
      guard let file = names[name] else { return }
      files[file].pending.append(change)
    case .sync(let withName):
      guard let file = names[name] else { return }
      for change in files[file].pending { Self.apply(change, to: &files[file].durable) }
      files[file].pending = []
      if withName { syncNames() }
    case .remove(let isDurable):
      rename(name, to: nil)
      if isDurable { syncNames() }
    }
  }

  private mutating func rename(_ name: String, to file: Int?) {
    names[name] = file
    pendingNames.append((name, file))
  }

  private mutating func syncNames() {
    durableNames = names
    pendingNames = []
  }

  private static func apply(_ change: Change, to bytes: inout [UInt8]) {
    switch change {
    case .write(let offset, let new):
      let end = offset + new.count
      if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
      bytes.replaceSubrange(offset..<end, with: new)
    case .resize(let size) where size < bytes.count: bytes.removeLast(bytes.count - size)
    case .resize(let size): bytes += [UInt8](repeating: 0, count: size - bytes.count)
    case .create, .sync, .remove: break
    }
  }

  // MARK: - The power goes

  /// The files that are left if the power goes now; of what was not synced, `random` says what had reached the disk.
  func survivors(_ random: inout SplitMix64) -> [String: [UInt8]] {
    var names = durableNames
    for (name, file) in pendingNames.prefix(random.below(pendingNames.count + 1)) { names[name] = file }
    let kind = random.below(4)
    var left: [String: [UInt8]] = [:]
    for (name, file) in names.sorted(by: { $0.key < $1.key }) {
      let file = files[file]
      switch kind {
      case 0: left[name] = file.durable
      case 1: left[name] = Self.torn(file, at: file.pending.count, &random)
      case 2: left[name] = Self.torn(file, at: random.below(file.pending.count + 1), &random)
      default: left[name] = Self.shuffled(file, &random)
      }
    }
    return left
  }

  /// The first `count` changes, and of the next one some sectors.
  private static func torn(_ file: File, at count: Int, _ random: inout SplitMix64) -> [UInt8] {
    var bytes = file.durable
    for change in file.pending.prefix(count) { apply(change, to: &bytes) }
    if count < file.pending.count, case .write(let offset, let new) = file.pending[count] {
      let end = (offset + random.below(new.count + 1)) / sector * sector
      if end > offset { apply(.write(offset: offset, bytes: Array(new.prefix(end - offset))), to: &bytes) }
    }
    return bytes
  }

  /// Each sector as one of the changes since the last sync left it, whatever became of the others.
  private static func shuffled(_ file: File, _ random: inout SplitMix64) -> [UInt8] {
    var stopped: Set<Int> = []
    var bytes = file.durable
    for change in file.pending {
      switch change {
      case .resize:
        if random.below(2) == 0 { apply(change, to: &bytes) }
      case .write(let offset, let new):
        var start = offset
        while start < offset + new.count {
          let index = start / sector
          let end = min((index + 1) * sector, offset + new.count)
          // A sector that has missed one change has missed those after it.
          if !stopped.contains(index), random.below(3) > 0 {
            let part = Array(new[(start - offset)..<(end - offset)])
            apply(.write(offset: start, bytes: part), to: &bytes)
          } else {
            stopped.insert(index)
          }
          start = end
        }
      case .create, .sync, .remove: break
      }
    }
    return bytes
  }
}
