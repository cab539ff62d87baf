import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport

/// A container of an emulator's, signed in; of a new emulator if there is none.
func emulatedContainer(_ emulator: Emulator? = nil, user: String = "ana") throws -> CKContainer {
  let transport = EmulatorTransport(try emulator ?? Emulator(), now: { Date() })
  let credential = CKCredential.webAuth(apiToken: "any", webAuthToken: user)
  return CKContainer(identifier: "iCloud.org.example.app", credential: credential, transport: transport)
}
