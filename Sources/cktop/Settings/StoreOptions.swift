import ArgumentParser

/// Which store and which cloud: the options that every verb has.
///
/// Their values are texts here and checked with the other sources', so that one message names source and choices.
struct StoreOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The sync store.", valueName: "file"))
  var store: String?

  @Option(help: ArgumentHelp("A [profiles.NAME] table of the configuration file.", valueName: "name"))
  var profile: String?

  @Option(help: ArgumentHelp("The container, iCloud.…", valueName: "id"))
  var container: String?

  @Option(help: "development or production (default: development).")
  var environment: String?

  @Option(
    help: "public, private or shared (default: public with a server-to-server key, private with a web-auth token)."
  )
  var database: String?

  @Option(help: "The server; default Apple's. Point it at cktop serve for the emulator.")
  var url: String?

  @Option(
    help: """
      Who wins a conflict of the same field: server, client, newest or manual. The first sync stores it with the store \
      (default: server).
      """
  )
  var policy: String?

  @Flag(help: "Accept no verb that changes anything.")
  var readOnly = false

  /// What was given, for `Settings`.
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
    return SettingOptions(values: values)
  }
}
