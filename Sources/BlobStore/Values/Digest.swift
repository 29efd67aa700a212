@_exported public import struct Notifications.Digest

/// What a blob is known by, here as for clients.
public typealias Digest = Notifications.Digest
