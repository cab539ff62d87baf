import Foundation

/// How colours look to people: distance (CIELAB) and contrast (WCAG 2).
extension RGB {
  /// The contrast of two colours, from 1 (none) to 21 (black on white).
  func contrast(to other: RGB) -> Double {
    let (light, dark) = (max(luminance, other.luminance), min(luminance, other.luminance))
    return (light + 0.05) / (dark + 0.05)
  }

  /// The brightness that the eye sees, from 0 to 1.
  var luminance: Double { xyz.y }

  /// The position of the nearest colour; the first one of equally near ones.
  func nearest(in candidates: ArraySlice<RGB>) -> Int {
    let own = lab
    var best = (index: candidates.startIndex, distance: Double.infinity)
    for index in candidates.indices {
      let lab = candidates[index].lab
      let (dl, da, db) = (own.l - lab.l, own.a - lab.a, own.b - lab.b)
      let distance = dl * dl + da * da + db * db
      if distance < best.distance { best = (index, distance) }
    }
    return best.index
  }

  private var lab: (l: Double, a: Double, b: Double) {
    func compress(_ value: Double) -> Double {
      value > 216.0 / 24389 ? cbrt(value) : (24389.0 / 27 * value + 16) / 116
    }
    let (x, y, z) = (compress(xyz.x / 0.95047), compress(xyz.y), compress(xyz.z / 1.08883))
    return (116 * y - 16, 500 * (x - y), 200 * (y - z))
  }

  private var xyz: (x: Double, y: Double, z: Double) {
    func linear(_ part: UInt8) -> Double {
      let value = Double(part) / 255
      return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }
    let (r, g, b) = (linear(red), linear(green), linear(blue))
    return (
      0.4124564 * r + 0.3575761 * g + 0.1804375 * b,
      0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
      0.0193339 * r + 0.1191920 * g + 0.9503041 * b
    )
  }
}
