import Dispatch

/// The event sources of the screen: input, signals, and room on a stalled line.
@MainActor
final class ScreenSources {
  private let input: any DispatchSourceRead
  private let signals: any DispatchSourceRead
  private var output: (any DispatchSourceWrite)?
  private let onOutput: @MainActor () -> Void

  /// Starts waiting. The handlers are called on the main actor.
  init(
    inputDescriptor: Int32,
    signalDescriptor: Int32,
    input onInput: @escaping @MainActor () -> Void,
    signals onSignal: @escaping @MainActor () -> Void,
    output onOutput: @escaping @MainActor () -> Void
  ) {
    input = DispatchSource.makeReadSource(fileDescriptor: inputDescriptor, queue: .main)
    signals = DispatchSource.makeReadSource(fileDescriptor: signalDescriptor, queue: .main)
    self.onOutput = onOutput
    input.setEventHandler { MainActor.assumeIsolated { onInput() } }
    signals.setEventHandler { MainActor.assumeIsolated { onSignal() } }
    input.activate()
    signals.activate()
  }

  /// Calls the output handler once, as soon as the line accepts output.
  func awaitOutput() {
    guard output == nil else { return }
    let source = DispatchSource.makeWriteSource(fileDescriptor: 1, queue: .main)
    source.setEventHandler { [weak self] in MainActor.assumeIsolated { self?.becameWritable() } }
    source.activate()
    output = source
  }

  /// Stops waiting permanently.
  func cancel() {
    input.cancel()
    signals.cancel()
    output?.cancel()
    output = nil
  }

  private func becameWritable() {
    guard let source = output else { return }
    source.cancel()
    output = nil
    onOutput()
  }
}
