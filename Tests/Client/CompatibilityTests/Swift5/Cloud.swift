import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport

/// A container of an emulator's, signed in; of a new emulator if there is none.
func emulatedContainer(_ emulator: Emulator? = nil, user: String = "ana") throws -> CKContainer {
  try .emulated(user: user, identifier: "iCloud.org.example.app", on: emulator ?? Emulator())
}
