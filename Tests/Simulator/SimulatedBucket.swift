import ObjectStore
import Replication
import TestSupport

/// The objects of a bucket, which loses nothing and is seen alike by all.
final class SimulatedObjects {
    private(set) var bytes: [String: [UInt8]] = [:]
    /// In order: a listing sorts nothing.
    private var names: [String] = []

    subscript(_ name: String) -> [UInt8]? { bytes[name] }

    func put(_ name: String, _ content: [UInt8]) {
        if bytes.updateValue(content, forKey: name) == nil {
            names.insert(name, at: place(of: name))
        }
    }

    func delete(_ name: String) {
        if bytes.removeValue(forKey: name) != nil { names.remove(at: place(of: name)) }
    }

    /// At most 50 objects whose names begin with a text, after one of them.
    func list(_ prefix: String, after name: String) -> ListPage {
        let rest = names[place(of: max(prefix, name))...].lazy.drop { $0 <= name }
        let found = Array(rest.prefix { $0.hasPrefix(prefix) }.prefix(51))
        return ListPage(
            found.prefix(50).map { .init(name: $0, byteCount: bytes[$0]?.count ?? 0) },
            isLast: found.count <= 50)
    }

    /// Where the first name is that is not before another one.
    private func place(of name: String) -> Int {
        var (low, high) = (0, names.count)
        while low < high {
            let middle = (low + high) / 2
            if names[middle] < name { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// One host's client of the bucket. At each request anything may happen: see ``World/draw(_:_:of:)``.
final class SimulatedBucket: Bucket {
    enum Operation: String { case create, put, get, list, delete }

    private unowned let host: Host
    private var world: World { host.world }

    init(_ host: Host) { self.host = host }

    /// Does a request: `effect` once, or not at all, or later.
    private func request<Answer>(
        _ operation: Operation, _ name: String, absurd: ((Fault.Absurdity) -> Answer?)? = nil,
        _ effect: @escaping () -> Answer
    ) throws(ReplicationError) -> Answer {
        try host.requireLife()
        let world = world
        let fault = world.drawFault(operation, of: host)
        if let fault { world.trace("\(host.name) \(operation) \(name): \(fault)") }
        world.clock += Int64(world.chance.below(20))
        if fault == .crashBefore { try host.dieInRequest() }
        world.actMeanwhile(host)
        try host.requireLife()
        switch fault {
        case nil, .crashBefore: break
        case .failsBefore: throw .bucket("the connection was cut")
        case .refused: throw .bucket("403 AccessDenied", isLasting: true)
        case .delayed:
            world.delay(effect: { _ = effect() })
            throw .bucket("no answer within 5 s")
        case .pauses(let milliseconds):
            world.pause(host, milliseconds)
            try host.requireLife()
        case .absurd(let absurdity):
            if let answer = absurd?(absurdity) {
                world.sometimes("absurd answer: \(absurdity)")
                return answer
            }
        case .failsAfter, .crashAfter, .late: break
        }
        let answer = effect()
        world.trace("\(host.name) \(operation) \(name)")
        world.actMeanwhile(host)
        try host.requireLife()
        switch fault {
        case .failsAfter: throw .bucket("the answer was lost")
        case .crashAfter: try host.dieInRequest()
        case .late(let milliseconds): world.pause(nil, milliseconds)
        default: break
        }
        try host.requireLife()
        return answer
    }

    func create(_ name: String, _ bytes: [UInt8]) throws(ReplicationError) -> CreateOutcome {
        let (world, host) = (world, host)
        let batches = world.batches(of: bytes, named: name, by: host)
        do throws(ReplicationError) {
            return try request(.create, name) { absurdity in
                // A proxy has sent the request again.
                guard absurdity == .existsAlready else { return nil }
                if world.objects[name] == nil { world.create(name, bytes, batches, by: host) }
                return .exists
            } _: {
                guard world.objects[name] == nil else { return .exists }
                world.create(name, bytes, batches, by: host)
                return .created
            }
        } catch {
            guard case .bucket(let why, isLasting: false) = error else { throw error }
            return .unknown(why)
        }
    }

    func put(_ name: String, _ bytes: [UInt8]) throws(ReplicationError) {
        let world = world
        try request(.put, name) { world.put(name, bytes) }
    }

    func get(_ name: String, byteCountMax: Int) throws(ReplicationError) -> [UInt8]? {
        let (world, host) = (world, host)
        let found: [UInt8]? = try request(.get, name) { absurdity in
            switch absurdity {
            case .nothing: return .some([])
            case .page: return .some(Array("<html><body>Please log in</body></html>".utf8))
            case .missing:
                world.noteLook(at: name, found: false, by: host)
                return .some(nil)
            case .existsAlready: return nil
            }
        } _: {
            let found = world.objects[name]
            world.noteLook(at: name, found: found != nil, by: host)
            return found
        }
        guard (found?.count ?? 0) <= byteCountMax else {
            throw .damaged(name: name, why: "has more than \(byteCountMax) bytes")
        }
        return found
    }

    func list(_ prefix: String, after name: String) throws(ReplicationError) -> ListPage {
        let world = world
        return try request(.list, prefix) { world.objects.list(prefix, after: name) }
    }

    func delete(_ name: String) throws(ReplicationError) {
        let (world, host) = (world, host)
        try request(.delete, name) { world.delete(name, by: host) }
    }

    func pause(beforeRetrying attempt: Int) throws(ReplicationError) {
        try host.requireLife()
        world.pause(nil, Int64(100 << min(attempt, 6)), of: host)
        try host.requireLife()
    }
}

/// What happens to a request.
enum Fault: Equatable {
    /// Answers that no bucket gives, and proxies do.
    enum Absurdity { case nothing, page, missing, existsAlready }

    case failsBefore, failsAfter, refused
    /// The answer never comes, and the effect does, some time later.
    case delayed
    case late(Int64)
    case absurd(Absurdity)
    case crashBefore, crashAfter
    /// The process stands still, and continues later.
    case pauses(Int64)
}
