import ArgumentParser

/// The options for the store and the server, which every verb has.
///
/// Their values are validated together with the other sources, so that one message names the source and the choices.
struct StoreOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The file of the sync store.", valueName: "file"))
  var store: String?

  @Option(help: ArgumentHelp("The [profiles.NAME] table of the configuration file to use.", valueName: "name"))
  var profile: String?

  @Option(help: ArgumentHelp("The container ID, such as iCloud.org.example.App.", valueName: "id"))
  var container: String?

  @Option(help: "The environment: development or production (default: development).")
  var environment: String?

  @Option(
    help: """
      The database: public, private or shared (default: public with a server-to-server key, private with a web auth \
      token).
      """
  )
  var database: String?

  @Option(help: "The server (default: Apple's); use the URL of cktop serve for the emulator.")
  var url: String?

  @Option(
    help: """
      The side that wins if both changed a field: server, client, newest or manual. The first sync saves it in the \
      store (default: server).
      """
  )
  var policy: String?

  @Flag(help: "Refuse every verb that changes anything.")
  var readOnly = false

  @Flag(
    name: .customLong("allow-http"),
    help: "Send credentials to another machine over http, where they can be read on the way."
  )
  var allowHTTP = false

  @Flag(help: "Accept record and zone names beyond ASCII, for a server that takes them.")
  var unicodeNames = false

  /// The values given, for `Settings`.
  var settings: SettingOptions {
    var values: [SettingKey: String] = [:]
    values[.store] = store
    values[.profile] = profile
    values[.container] = container
    values[.environment] = environment
    values[.database] = database
    values[.url] = url
    values[.policy] = policy
    if readOnly { values[.readOnly] = "true" }
    if allowHTTP { values[.allowHTTP] = "true" }
    if unicodeNames { values[.unicodeNames] = "true" }
    return SettingOptions(values: values)
  }
}
