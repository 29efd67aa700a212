// A backend's and a device's part with blobd, in Java 17: java Client.java SOCKET PICTURE KEYS
import java.io.*;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.regex.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Client {
    record Answer(int status, Map<String, String> fields, byte[] body) {
        String text() { return new String(body, StandardCharsets.UTF_8); }
    }

    static String socket;

    // Java's HTTP client knows no Unix sockets. With Connection: close an answer ends with its connection, and with
    // HTTP/1.0 it is never chunked.
    static Answer call(String method, String target, byte[] body, String... fields) throws IOException {
        var head = new StringBuilder(method + " " + target + " HTTP/1.0\r\nHost: blobd\r\nConnection: close\r\n");
        for (int i = 0; i < fields.length; i += 2) head.append(fields[i] + ": " + fields[i + 1] + "\r\n");
        if (body != null) head.append("Content-Length: " + body.length + "\r\n");
        try (var channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            var request = new ByteArrayOutputStream();
            request.write(head.append("\r\n").toString().getBytes(StandardCharsets.US_ASCII));
            if (body != null) request.write(body);
            var output = ByteBuffer.wrap(request.toByteArray());
            while (output.hasRemaining()) channel.write(output);
            byte[] bytes = Channels.newInputStream(channel).readAllBytes();
            String text = new String(bytes, StandardCharsets.ISO_8859_1);
            int end = text.indexOf("\r\n\r\n");
            String[] lines = text.substring(0, end).split("\r\n");
            var found = new TreeMap<String, String>(String.CASE_INSENSITIVE_ORDER);
            for (int i = 1; i < lines.length; i++) found.put(lines[i].split(": ", 2)[0], lines[i].split(": ", 2)[1]);
            byte[] rest = Arrays.copyOfRange(bytes, end + 4, bytes.length);
            String length = found.get("Content-Length");
            if (length != null && rest.length != Integer.parseInt(length)) throw new EOFException("the answer is cut");
            return new Answer(Integer.parseInt(lines[0].split(" ")[1]), found, rest);
        }
    }

    static final Pattern CHANGE = Pattern.compile("\"kind\":\"(\\w+)\",\"id\":\"([^\"]*)\",\"revision\":\\d+(?:,\"device\":\"([^\"]*)\")?");
    static final Pattern END = Pattern.compile("\"next\":\"([^\"]*)\",\"more\":(true|false)}\\s*$");

    // Prints the changes after a cursor, page by page, and returns the cursor after them. It reads their members with what
    // the JDK has; a program would use a JSON library. Not every change names a device.
    static String follow(String cursor, int wait) throws IOException {
        while (true) {
            String page = call("GET", "/v1/users/ann/changes?since=" + cursor + "&wait=" + wait, null).text();
            for (var change = CHANGE.matcher(page); change.find();) {
                String device = change.group(3) == null ? "" : " by " + change.group(3);
                System.out.println("change: " + change.group(1) + " " + change.group(2) + device);
            }
            var end = END.matcher(page);
            if (!end.find()) throw new IOException(page);
            cursor = end.group(1);
            if (end.group(2).equals("false")) return cursor;
        }
    }

    public static void main(String[] arguments) throws Exception {
        socket = arguments[0];

        // Publish: the document and its picture are stored in one transaction.
        byte[] picture = Files.readAllBytes(Path.of(arguments[1]));
        var form = new ByteArrayOutputStream();
        form.write(("--part\r\nContent-Disposition: form-data; name=\"notification\"\r\n\r\n"
            + "{\"owner\":\"ann\",\"message\":\"Look who is here\",\"rich_type\":\"img\",\"ttl\":3600}"
            + "\r\n--part\r\nContent-Disposition: form-data; name=\"payload\"; filename=\"photo.jpg\"\r\n"
            + "Content-Type: image/jpeg\r\n\r\n").getBytes(StandardCharsets.UTF_8));
        form.write(picture);
        form.write("\r\n--part--\r\n".getBytes(StandardCharsets.UTF_8));
        var published = call("PUT", "/v1/notifications/42", form.toByteArray(), "Content-Type", "multipart/form-data; boundary=part");
        System.out.println("published: " + published.status());

        // The push for APNs. Send it as it is; it has the id, not the picture.
        System.out.println("push: " + call("GET", "/v1/notifications/42/envelope?platform=apns&style=alert", null).text());

        // Fetch: the entity tag is the digest of the bytes.
        var fetched = call("GET", "/v1/notifications/42/payload", null);
        String digest = "sha256:" + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(fetched.body()));
        boolean isWhole = fetched.fields().get("ETag").equals("\"" + digest + "\"");
        System.out.println("fetched: " + fetched.body().length + " bytes, " + (isWhole ? digest : "damaged"));

        // Follow the feed: all changes first, then those after the cursor. The second call waits for one.
        String cursor = follow("0", 0);
        call("PATCH", "/v1/notifications/42", "{\"read\":true}".getBytes(), "Content-Type", "application/merge-patch+json", "Blobd-Device", "phone");
        follow(cursor, 30);

        // A signed link, with which a device fetches by itself: through nginx from the device socket.
        String[] key = Files.readAllLines(Path.of(arguments[2])).stream()
            .filter(line -> !line.isBlank() && !line.startsWith("#")).findFirst().orElseThrow().split("\\s+");
        String path = "/d/42";
        long expiry = System.currentTimeMillis() / 1000 + 3600;
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(Base64.getDecoder().decode(key[1]), "HmacSHA256"));
        byte[] code = mac.doFinal(("GET\n" + path + "\n" + expiry + "\n" + key[0]).getBytes(StandardCharsets.UTF_8));
        String link = path + "?e=" + expiry + "&k=" + key[0] + "&sig=" + Base64.getUrlEncoder().withoutPadding().encodeToString(code);
        var linked = call("GET", link, null);
        System.out.println("by link: " + linked.status() + " " + linked.body().length + " bytes");
    }
}
