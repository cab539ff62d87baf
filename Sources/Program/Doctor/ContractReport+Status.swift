package import CloudKitContract
package import Facts

extension ContractReport {
  /// The exit code: 1 if a behaviour is otherwise than assumed, or nothing could be tried.
  package var status: CommandStatus { differing.isEmpty && untried.count < lines.count ? .done : .itemsFailed }
}
