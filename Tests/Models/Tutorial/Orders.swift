import CloudKitModels
import CloudSyncModels

/// An order of a shop.
struct Order: Codable, Equatable, Identifiable {
  var id = UUID()
  var customer: String
  var total: Double
  var isPaid = false
}

extension Order: CKRecordModel {}

extension Order: CKFieldModel {
  enum Fields: String, CKRecordFields { case customer, total, isPaid }
}

/// The orders on the server.
struct Server {
  let database = CKContainer.default().database(for: Order.self)

  func save(_ order: Order) async throws -> Order {
    try await database.save(order)
  }

  func unpaid() async throws -> [Order] {
    let query = Query<Order>()
      .filter(.isPaid, equals: false)
      .sorted(by: .total, ascending: false)
    return try await database.load(query)
  }
}

/// A machine of the shop, with its own copy of the orders.
struct Device {
  let engine: SyncEngine

  init(_ name: String) throws {
    let container = CKContainer.default()
    engine = try SyncEngine(SyncEngine.Configuration(container: container, storePath: "\(name).sqlite"))
  }

  func save(_ order: Order) async throws {
    try await engine.store.save(order)
  }

  func sync() async throws -> SyncSummary {
    try await engine.sync()
  }

  func orders() async throws -> [Order] {
    try await engine.store.all(Order.self).sorted { $0.customer < $1.customer }
  }

  func pay(_ customer: String) async throws {
    for order in try await orders() where order.customer == customer {
      var edited = order
      edited.isPaid = true
      try await engine.store.save(edited, changedFrom: order)
    }
  }

  func waitForPayment(of customer: String) async throws {
    let unpaid = Query<Order>().filter(.customer, equals: customer).filter(.isPaid, equals: false)
    for try await orders in engine.store.observe(unpaid) where orders.isEmpty { return }
  }
}

/// Takes the orders of a shop, on the server directly or on a device that syncs later.
@main struct Orders {
  static func main() async throws {
    func argument(_ index: Int) -> String {
      CommandLine.arguments.indices.contains(index) ? CommandLine.arguments[index] : ""
    }
    func order(at index: Int) -> Order {
      Order(customer: argument(index), total: Double(argument(index + 1)) ?? 0)
    }
    switch argument(1) {
    case "save": show([try await Server().save(order(at: 2))])
    case "unpaid": show(try await Server().unpaid())
    case "take": try await Device(argument(2)).save(order(at: 3))
    case "list": show(try await Device(argument(2)).orders())
    case "pay": try await Device(argument(2)).pay(argument(3))
    case "wait":
      let device = try Device(argument(2))
      try await device.waitForPayment(of: argument(3))
      show(try await device.orders().filter { $0.customer == argument(3) })
    case "sync": show(try await Device(argument(2)).sync())
    default: print("Orders save CUSTOMER TOTAL | unpaid | take DEVICE CUSTOMER TOTAL | list, sync, pay, wait DEVICE …")
    }
  }

  private static func show(_ orders: [Order]) {
    for order in orders { print(order.customer, order.total, order.isPaid ? "paid" : "unpaid") }
  }

  private static func show(_ summary: SyncSummary) {
    if let failure = summary.failure {
      print("not synced: \(failure.localizedDescription)")
    } else {
      print("sent \(summary.sent), fetched \(summary.fetched)")
    }
  }
}
