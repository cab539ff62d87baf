import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport

/// A container of the emulator's, signed in.
func emulatedContainer() throws -> CKContainer {
  let transport = EmulatorTransport(try Emulator(), now: { Date() })
  let credential = CKCredential.webAuth(apiToken: "any", webAuthToken: "ana")
  return CKContainer(identifier: "iCloud.org.example.app", credential: credential, transport: transport)
}
