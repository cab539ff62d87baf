import CloudSync

/// The thing that the commands of a screen are about: a row, an operation, a conflict or a value.
struct Subject {
  /// Why nothing is selected, as a sentence without a full stop; nil if something is.
  var missing: String?
  /// The operations that the commands of the queue act on; nil if none is selected.
  var operations: Operations?
  /// The change that is selected, to be edited or, in conflict, resolved.
  var change: QueueRow?
  /// The effect of Enter.
  var open = Offer.none("Nothing is selected")
  /// The copy of what is marked or selected.
  var copy = Offer([])
  /// Returns the values of the selected field in full, or those of all fields; nil if there are none.
  var whole: () -> ValueScreen? = { nil }

  var conflict: Int64? { change.flatMap { $0.state == .conflict ? $0.id : nil } }
}

/// The effect of a key on a subject, with its label in the footer, or why it has none.
struct Offer {
  var label: String?
  var refusal: String?
  let steps: () -> [Step]

  init(label: String? = nil, refusal: String? = nil, _ steps: @autoclosure @escaping () -> [Step]) {
    (self.label, self.refusal, self.steps) = (label, refusal, steps)
  }

  static func screen(_ screen: any Screen, label: String? = nil) -> Offer { Offer(label: label, [.push(screen)]) }
  static func none(_ refusal: String) -> Offer { Offer(refusal: refusal, []) }
}
