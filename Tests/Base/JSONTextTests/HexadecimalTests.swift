import JSONText
import Testing

struct HexadecimalTests {
  @Test(
    arguments: [([], ""), ([0], "00"), ([9, 10, 15, 16], "090a0f10"), ([0xAB, 0xFF], "abff")] as [([UInt8], String)]
  )
  func `each byte has two lowercase digits`(_ bytes: [UInt8], _ digits: String) {
    #expect(bytes.hexadecimal == digits)
  }
}
