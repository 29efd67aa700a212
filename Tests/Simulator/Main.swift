import BlobStore
import Replication
import SimulatedSystem
import TestSupport
@main struct Main { static func main() { print(BlobStore.self) } }
