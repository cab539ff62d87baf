import Foundation
import Testing

@testable import CloudKitWebServices

@Suite(.serialized) struct AssetAddressTests {
  @Test(arguments: [
    (
      "https://cvws.icloud-content.com/B/AX/${f}?o=A%2Bb&e=1700000000&r=x{y}",
      "https://cvws.icloud-content.com/B/AX/a%20%2F%20b%3F.jpg?o=A%2Bb&e=1700000000&r=x%7By%7D"
    ),
    ("http://127.0.0.1:8080/a b/100%/%zz/é", "http://127.0.0.1:8080/a%20b/100%25/%25zz/%C3%A9"),
    ("https://[::1]:8/[x]", "https://[::1]:8/%5Bx%5D"),
  ])
  func `the placeholder takes a file name and what is illegal is encoded, once`(text: String, url: String) {
    #expect(AssetAddress.url(text, fileName: "a / b?.jpg")?.absoluteString == url)
  }

  @Test(arguments: [
    "", "file:///etc/passwd", "ftp://host/x", "https://", "https:///x", "/x", "https://user:word@host/x",
    "javascript:1",
    "https://host\n/x",
  ])
  func `only addresses of web hosts are taken`(text: String) {
    let url = AssetAddress.url(text)

    #expect(url == nil)
  }
}
