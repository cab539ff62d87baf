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

  /// The number of the palette's colour that is nearest; the first one of equally near ones.
  func nearest(in numbers: Range<Int>) -> Int {
    let own = lab
    var best = (number: numbers.lowerBound, distance: Double.infinity)
    for number in numbers {
      let lab = Self.paletteLab[number]
      let (dl, da, db) = (own.l - lab.l, own.a - lab.a, own.b - lab.b)
      let distance = dl * dl + da * da + db * db
      if distance < best.distance { best = (number, distance) }
    }
    return best.number
  }

  private static let paletteLab = palette.map(\.lab)

  private var lab: (l: Double, a: Double, b: Double) {
    func compress(_ value: Double) -> Double {
      value > 216.0 / 24389 ? cbrt(value) : (24389.0 / 27 * value + 16) / 116
    }
    let xyz = xyz
    let (x, y, z) = (compress(xyz.x / 0.95047), compress(xyz.y), compress(xyz.z / 1.08883))
    return (116 * y - 16, 500 * (x - y), 200 * (y - z))
  }

  private var xyz: (x: Double, y: Double, z: Double) {
    let (r, g, b) = (Self.linear[Int(red)], Self.linear[Int(green)], Self.linear[Int(blue)])
    return (
      0.4124564 * r + 0.3575761 * g + 0.1804375 * b,
      0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
      0.0193339 * r + 0.1191920 * g + 0.9503041 * b
    )
  }

  /// The light of each value of a part.
  private static let linear = (0...255).map { part -> Double in
    let value = Double(part) / 255
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
  }
}
