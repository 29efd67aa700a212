import Glibc
import Subjects

// Does one subject so many times and nothing else, for profilers.
//
//   subjects list                 GROUP, tolerance in percent, slow or -, and NAME of each, by tabs
//   subjects run NAME COUNT

let arguments = CommandLine.arguments
let all = Subjects.all.flatMap { group in group.subjects.map { (group.group, $0) } }

switch arguments.dropFirst().first {
case "list":
    for (group, subject) in all {
        let kind = subject.isSlow ? "slow" : "-"
        print("\(group)\t\(subject.tolerancePercent)\t\(kind)\t\(subject.name)")
    }
case "run" where arguments.count == 4:
    guard let (_, subject) = all.first(where: { $0.1.name == arguments[2] }),
        let count = Int(arguments[3]), count > 0
    else {
        print("subjects: no subject \"\(arguments[2])\", or not a count: \(arguments[3])")
        exit(2)
    }
    do {
        try subject.prepare()(count)
    } catch {
        print("subjects: \(subject.name): \(error)")
        exit(1)
    }
default:
    print("usage: subjects list | subjects run NAME COUNT")
    exit(2)
}
