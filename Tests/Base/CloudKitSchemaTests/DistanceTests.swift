import CloudKitSchema
import Testing

struct DistanceTests {
  @Test(
    arguments: [
      ((0, 0), (0, 0), 0), ((0, 0), (0, 180), .pi * 6_371_009), ((90, 0), (-90, 123), .pi * 6_371_009),
      ((0, -0.5), (0, 0.5), .pi * 6_371_009 / 180), ((60, 179.5), (60, -179.5), 55_596),
    ] as [((Double, Double), (Double, Double), Double)]
  )
  func `a distance is along the shortest way on a sphere`(
    _ start: (Double, Double),
    _ end: (Double, Double),
    _ metres: Double
  ) {
    #expect(abs(CKSchema.distance(from: start, to: end) - metres) < 10)
    #expect(abs(CKSchema.distance(from: end, to: start) - metres) < 10)
  }
}
