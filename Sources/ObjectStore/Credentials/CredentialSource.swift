/// A place where credentials come from: a type for each, and the table of all in ``CredentialSources``.
protocol CredentialSource: Sendable {
    /// What messages call it.
    static var title: String { get }

    /// Looks whether it is set up, in the environment and in files alone.
    ///
    /// - Throws: where it is set up, and wrongly.
    static func find(_ setup: SourceSetup) throws(ObjectStoreError) -> Finding

    /// Whether it is this process's environment or a file: then reading it is quick, and says nothing new to others.
    var isLocal: Bool { get }

    /// Reads it once. How often it is tried is its caller's.
    func read(_ session: SourceSession) throws(ObjectStoreError) -> Credentials
}

extension CredentialSource {
    var isLocal: Bool { false }
}

struct SourceSetup {
    let environment: ProcessEnvironment
    let region: String
}

enum Finding {
    case source(any CredentialSource)
    /// It is not set up: what is missing.
    case none(String)
}

/// All sources, in the order in which the SDKs of AWS look at them.
///
/// The first that is set up is the only one that is ever asked: when it fails, credentials of the next might be someone
/// else's. Instance metadata is set up wherever it is not disabled, so that it comes last.
enum CredentialSources {
    static let table: [any CredentialSource.Type] = [
        EnvironmentSource.self, WebIdentitySource.self, ProfileSource.self, ProcessSource.self,
        ContainerSource.self, InstanceSource.self,
    ]

    /// - Throws: ``ObjectStoreError/Kind/noCredentials`` where none is set up, or the first is so wrongly.
    static func find(
        _ environment: ProcessEnvironment, region: String
    ) throws(ObjectStoreError) -> ChosenSource {
        let setup = SourceSetup(environment: environment, region: region)
        var passed: [String] = []
        for type in table {
            let finding: Finding
            do throws(ObjectStoreError) { finding = try type.find(setup) } catch {
                throw ChosenSource.error(.noCredentials, passed, type.title, error.description)
            }
            switch finding {
            case .source(let source):
                return ChosenSource(source: source, title: type.title, passed: passed)
            case .none(let why): passed.append("\(type.title): \(why)")
            }
        }
        throw .noCredentials(
            "no credentials: \(passed.joined(separator: "; ")). Set up one of them")
    }
}

struct ChosenSource: Sendable {
    let source: any CredentialSource
    let title: String
    /// Those before it, and why they are not it.
    fileprivate let passed: [String]

    /// A failure of the source, with those that were looked at before it.
    func error(_ failure: ObjectStoreError) -> ObjectStoreError {
        switch failure.kind {
        case .noCredentials, .unavailable:
            Self.error(failure.kind, passed, title, failure.description)
        default: failure
        }
    }

    fileprivate static func error(
        _ kind: ObjectStoreError.Kind, _ passed: [String], _ title: String, _ why: String
    ) -> ObjectStoreError {
        let all = passed + ["\(title): \(why)"]
        return ObjectStoreError(kind, "no credentials: \(all.joined(separator: "; "))")
    }
}
