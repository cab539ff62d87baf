import CloudSync

/// The user's settings of the dashboard, from the configuration file.
package struct Preferences: Hashable, Sendable {
  /// Whether the mouse is reported; it then selects text with Shift.
  package var hasMouse = true
  /// Whether the queue has a column of the operations' numbers.
  package var showsIDs = true
  /// The view to begin with.
  package var startView = StartView.overview
  /// The keys of the commands.
  package var keys = KeyMap.standard
  /// Milliseconds after which a full sync no longer counts while no process syncs.
  package var freshFor = StoreStatus.standardFreshness

  package init() {}

  /// The settings of the `[dashboard]` table, besides the keys. This is their only list: the configuration file, the
  /// help and `config check` read it.
  package static let settings = [
    Setting("mouse", "clicks and the wheel; false: text is selected without Shift", \.hasMouse),
    Setting("ids", "the queue's column of operation numbers", \.showsIDs),
    Setting("view", "what is shown first", \.startView),
  ]

  /// A setting of the `[dashboard]` table.
  package struct Setting: Sendable {
    package let name: String
    package let help: String
    /// The values that it accepts.
    package let choices: [String]
    /// Whether it is true or false, without quotes.
    package let isFlag: Bool
    /// Returns the value in a user's settings.
    package let value: @Sendable (Preferences) -> String
    /// Sets one of the choices.
    package let set: @Sendable (inout Preferences, _ choice: String) -> Void

    init(_ name: String, _ help: String, _ path: any WritableKeyPath<Preferences, Bool> & Sendable) {
      (self.name, self.help, choices, isFlag) = (name, help, ["true", "false"], true)
      value = { String($0[keyPath: path]) }
      set = { $0[keyPath: path] = $1 == "true" }
    }

    init<Value: CaseIterable & RawRepresentable<String> & SendableMetatype>(
      _ name: String,
      _ help: String,
      _ path: any WritableKeyPath<Preferences, Value> & Sendable
    ) {
      (self.name, self.help, choices, isFlag) = (name, help, Value.allCases.map(\.rawValue), false)
      value = { $0[keyPath: path].rawValue }
      set = { preferences, choice in Value(rawValue: choice).map { preferences[keyPath: path] = $0 } }
    }
  }

  /// The view that the dashboard begins with.
  package struct StartView: Hashable, Sendable, CaseIterable, RawRepresentable {
    package let rawValue: String

    static let overview = StartView("overview")
    package static let allCases = [overview] + ViewEntry.views.map { StartView($0.name) }

    private init(_ name: String) { rawValue = name }

    package init?(rawValue name: String) {
      guard Self.allCases.contains(where: { $0.rawValue == name }) else { return nil }
      self.init(name)
    }
  }
}
