import Foundation
import RichPush
import UIKit
import UserNotifications

/// The picture of a notification, as iOS takes it.
enum Picture {
    static func attachment(of id: String, from url: URL) async throws -> UNNotificationAttachment {
        let payload = try await PayloadDownload().run(url)
        var file = payload.file
        do {
            if payload.mediaType.hasPrefix("image/webp") { file = try png(of: file) }
            // iOS moves the file into its own store when it shows the notification.
            return try UNNotificationAttachment(identifier: id, url: file, options: nil)
        } catch {
            try? FileManager.default.removeItem(at: file)
            throw error
        }
    }

    /// UIKit reads WebP, but attachments may not be WebP. At the size of a screen, since an extension has 24 MB.
    private static func png(of file: URL) throws -> URL {
        guard let picture = UIImage(contentsOfFile: file.path) else { return file }
        let scale = min(1, 1_024 / max(picture.size.width, picture.size.height))
        let size = CGSize(width: picture.size.width * scale, height: picture.size.height * scale)
        guard let data = picture.preparingThumbnail(of: size)?.pngData() else { return file }
        let png = file.deletingPathExtension().appendingPathExtension("png")
        try data.write(to: png)
        try FileManager.default.removeItem(at: file)
        return png
    }
}
