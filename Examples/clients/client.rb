# A backend's and a device's part with blobd, in Ruby: client.rb SOCKET PICTURE KEYS
require "base64"
require "digest"
require "json"
require "net/http"
require "openssl"
require "socket"

SOCKET, PICTURE, KEYS = ARGV

# Net::HTTP over a Unix socket: only how it connects differs.
class UnixConnection < Net::HTTP
  def connect
    @socket = Net::BufferedIO.new(UNIXSocket.new(SOCKET), read_timeout: 60)
  end
end

BLOBD = UnixConnection.new("blobd").start

# A request over the one connection.
def call(method, target, body = nil, fields = {})
  request = Net::HTTPGenericRequest.new(method, !body.nil?, true, target, fields)
  # The bytes as they are stored: without this Net::HTTP asks for gzip.
  request["Accept-Encoding"] = "identity"
  BLOBD.request(request, body)
end

# Publish: the document and its picture are stored in one transaction.
document = { owner: "ann", message: "Look who is here", rich_type: "img", ttl: 3600 }
form = "--part\r\nContent-Disposition: form-data; name=\"notification\"\r\n\r\n#{document.to_json}" \
       "\r\n--part\r\nContent-Disposition: form-data; name=\"payload\"; filename=\"photo.jpg\"\r\n" \
       "Content-Type: image/jpeg\r\n\r\n".b + File.binread(PICTURE) + "\r\n--part--\r\n".b
response = call("PUT", "/v1/notifications/42", form, "Content-Type" => "multipart/form-data; boundary=part")
puts "published: #{response.code}"

# The push for APNs. Send it as it is; it has the id, not the picture.
puts "push: #{call("GET", "/v1/notifications/42/envelope?platform=apns&style=alert").body}"

# Fetch: the entity tag is the digest of the bytes.
response = call("GET", "/v1/notifications/42/payload")
digest = "sha256:#{Digest::SHA256.hexdigest(response.body)}"
puts "fetched: #{response.body.bytesize} bytes, #{response["ETag"] == "\"#{digest}\"" ? digest : "damaged"}"

# Prints the changes after a cursor, page by page. Returns the cursor after them.
def follow(cursor, wait = 0)
  loop do
    page = JSON.parse(call("GET", "/v1/users/ann/changes?since=#{cursor}&wait=#{wait}").body)
    page["changes"].each do |change|
      # Not every change names a device, and those of categories have no id.
      puts "change: #{change["kind"]} #{change["id"]}#{" by #{change["device"]}" if change["device"]}"
    end
    cursor = page["next"]
    return cursor unless page["more"]
  end
end

# Follow the feed: all changes first, then those after the cursor. The second call waits for one.
cursor = follow("0")
fields = { "Content-Type" => "application/merge-patch+json", "Blobd-Device" => "phone" }
call("PATCH", "/v1/notifications/42", '{"read":true}', fields)
follow(cursor, 30)

# A signed link, with which a device fetches by itself: through nginx from the device socket.
key_id, key = File.readlines(KEYS).grep(/^[^#\s]/).first.split
path, expiry = "/d/42", Time.now.to_i + 3600
code = OpenSSL::HMAC.digest("SHA256", Base64.decode64(key), "GET\n#{path}\n#{expiry}\n#{key_id}")
response = call("GET", "#{path}?e=#{expiry}&k=#{key_id}&sig=#{Base64.urlsafe_encode64(code, padding: false)}")
puts "by link: #{response.code} #{response.body.bytesize} bytes"
