internal import Bytes

/// A text that satisfies the rule of its kind. Only a check creates one, so it needs no other.
package struct CheckedText<Rule: TextRule>: Sendable, Hashable {
    /// Has at least one byte, and at most as many as its kind allows.
    package let text: String

    package init(_ text: String) throws(TextFault) {
        if let fault = Rule.kind.fault(in: text.utf8.span.bytes) { throw fault }
        self.text = text
    }

    package init(_ bytes: RawSpan) throws(TextFault) {
        if let fault = Rule.kind.fault(in: bytes) { throw fault }
        text = bytes.text()
    }

    fileprivate init(known text: String) { self.text = text }

    /// For an error's detail: in quotes, at most 64 bytes.
    package var excerpt: String { text.utf8.span.bytes.excerpt() }

    /// Whether both have the same bytes. Swift's `==` treats é as equal whether it is one scalar or two.
    package static func == (left: CheckedText, right: CheckedText) -> Bool {
        left.text.isSame(as: right.text)
    }
}

/// The kind of text that a type represents.
package protocol TextRule: Sendable {
    static var kind: TextKind { get }
}

package enum IDRule: TextRule { package static var kind: TextKind { .id } }
package enum PartRule: TextRule { package static var kind: TextKind { .part } }
package enum OwnerRule: TextRule { package static var kind: TextKind { .owner } }
package enum AppRule: TextRule { package static var kind: TextKind { .app } }
package enum TitleRule: TextRule { package static var kind: TextKind { .title } }
package enum MessageRule: TextRule { package static var kind: TextKind { .message } }
package enum RichTypeRule: TextRule { package static var kind: TextKind { .richType } }
package enum MediaTypeRule: TextRule { package static var kind: TextKind { .mediaType } }
package enum CategoryRule: TextRule { package static var kind: TextKind { .category } }
package enum GroupRule: TextRule { package static var kind: TextKind { .group } }
package enum DeviceRule: TextRule { package static var kind: TextKind { .device } }
package enum PlatformRule: TextRule { package static var kind: TextKind { .platform } }
package enum TargetHostRule: TextRule { package static var kind: TextKind { .targetHost } }

package typealias NotificationID = CheckedText<IDRule>
package typealias PartName = CheckedText<PartRule>
package typealias OwnerID = CheckedText<OwnerRule>
package typealias AppName = CheckedText<AppRule>
package typealias Title = CheckedText<TitleRule>
package typealias Message = CheckedText<MessageRule>
package typealias RichType = CheckedText<RichTypeRule>
package typealias MediaType = CheckedText<MediaTypeRule>
package typealias CategoryName = CheckedText<CategoryRule>
package typealias GroupName = CheckedText<GroupRule>
package typealias DeviceName = CheckedText<DeviceRule>
package typealias PlatformName = CheckedText<PlatformRule>
package typealias TargetHost = CheckedText<TargetHostRule>

extension PartName {
    /// The part of a request that names none.
    package static var payload: PartName { PartName(known: "payload") }
}

extension MediaType {
    /// The media type of bytes without a given one.
    package static var octetStream: MediaType { MediaType(known: "application/octet-stream") }
}

/// The texts of a notification in a request. nil: not given.
package struct NotificationTexts: Sendable, Hashable {
    /// nil: the store chooses the next number.
    package var id: NotificationID?
    package var owner: OwnerID?
    package var app: AppName?
    package var title: Title?
    package var message: Message?
    package var richType: RichType?

    package init() {}
}
