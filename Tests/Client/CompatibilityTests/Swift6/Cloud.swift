import CloudKit
import CloudKitEmulatorTransport

/// A container of the emulator's, signed in.
func emulatedContainer() throws -> CKContainer {
  try .emulated(user: "ana", identifier: "iCloud.org.example.app")
}
