import Glibc

/// Hosts that are this machine, or the one below it.
enum HostAddress {
    /// `localhost`, 127.0.0.0/8 or ::1. No name is resolved, and no address is read that is not written in full.
    static func isLoopback(_ host: String) -> Bool {
        guard host != "localhost" else { return true }
        guard let bytes = bytes(host) else { return false }
        return bytes.count == 4 ? bytes[0] == 127 : bytes == bytes6("::1")
    }

    /// Where the agents of ECS (169.254.170.2) and EKS (169.254.170.23, fd00:ec2::23) listen.
    static func isContainerAgent(_ host: String) -> Bool {
        let bytes = bytes(host)
        return bytes == [169, 254, 170, 2] || bytes == [169, 254, 170, 23]
            || (bytes != nil && bytes == bytes6("fd00:ec2::23"))
    }

    private static func bytes(_ host: String) -> [UInt8]? {
        var address = [UInt8](repeating: 0, count: 4)
        return inet_pton(AF_INET, host, &address) == 1 ? address : bytes6(host)
    }

    private static func bytes6(_ host: String) -> [UInt8]? {
        var address = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET6, host, &address) == 1 ? address : nil
    }
}
