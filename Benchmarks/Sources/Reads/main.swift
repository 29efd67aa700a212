import BlobStore
import Glibc

// Reads in process through `BlobStore`, to be set beside what `baseline-reads` makes of the same
// folder: the same ids in the same order, and the same line of JSON.
//
//   reads fill FOLDER IDS COUNT BYTES [ID-LENGTH]
//   reads run FOLDER IDS SECONDS payload|snapshot|held [READS]
//   reads write FOLDER IDS SECONDS [PAUSE-MICROSECONDS]
//
// `fill` makes a store of COUNT notifications of BYTES bytes each and writes their ids to the file
// IDS. `run` opens it for reading only; `payload` reads with `withPayload`, `snapshot` by UTF-8 in
// a snapshot for each read, `held` in one for 256. With READS it makes so many and stops, for
// counting instructions. `write` replaces payloads, each with its own sync.

let usage = """
    usage: reads fill FOLDER IDS COUNT BYTES [ID-LENGTH]
           reads run FOLDER IDS SECONDS payload|snapshot|held [READS]
           reads write FOLDER IDS SECONDS [PAUSE-MICROSECONDS]

    """

func complain(_ text: String) -> Never {
    var text = text
    text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(2)
}

let arguments = CommandLine.arguments
guard arguments.count >= 5 else { complain(usage) }
let (folder, list) = (arguments[2], arguments[3])
/// The argument in that place, as a number.
func number(_ index: Int, otherwise: Int) -> Int {
    guard arguments.count > index else { return otherwise }
    guard let number = Int(arguments[index]), number >= 0 else { complain(usage) }
    return number
}

do {
    switch arguments[1] {
    case "fill":
        guard arguments.count >= 6 else { complain(usage) }
        try fill(
            folder, list: list, count: number(4, otherwise: 0), byteCount: number(5, otherwise: 0),
            idLength: number(6, otherwise: 12))
    case "run":
        guard arguments.count >= 6, let way = Way(rawValue: arguments[5]) else { complain(usage) }
        let store = try BlobStore.openReadOnly(at: folder, options: options)
        try run(
            store, ids: try identifiers(list), seconds: Double(arguments[4]) ?? 1, way: way,
            reads: number(6, otherwise: 0))
    case "write":
        let store = try BlobStore.open(at: folder, options: options)
        try replace(
            store, ids: try identifiers(list), seconds: Double(arguments[4]) ?? 1,
            pause: UInt32(number(5, otherwise: 0)))
    default: complain(usage)
    }
} catch {
    complain("reads: \(error)\n")
}
