// A backend's and a device's part with blobd, in Go: go run client.go SOCKET PICTURE KEYS
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"time"
)

// The host of a URL means nothing here: every connection goes to the socket.
var client = &http.Client{Transport: &http.Transport{
	DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", os.Args[1])
	},
}}

// A request. Returns the answer, and its body whole.
func call(method, target string, body []byte, fields ...string) (*http.Response, []byte) {
	request, err := http.NewRequest(method, "http://blobd"+target, bytes.NewReader(body))
	check(err)
	for i := 0; i < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	check(err)
	return response, answer
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type page struct {
	Changes []struct{ Kind, ID, Device string }
	Next    string
	More    bool
}

// Prints the changes after a cursor, page by page. Returns the cursor after them.
func follow(cursor string, wait int) string {
	for {
		_, body := call("GET", fmt.Sprintf("/v1/users/ann/changes?since=%s&wait=%d", cursor, wait), nil)
		var read page
		check(json.Unmarshal(body, &read))
		for _, change := range read.Changes {
			// Not every change names a device, and those of categories have no id.
			by := ""
			if change.Device != "" {
				by = " by " + change.Device
			}
			fmt.Printf("change: %s %s%s\n", change.Kind, change.ID, by)
		}
		if cursor = read.Next; !read.More {
			return cursor
		}
	}
}

// The first key of the daemon's file, which may have empty lines and comments.
func signingKey(file string) (id, key string) {
	text, err := os.ReadFile(file)
	check(err)
	for _, line := range strings.Split(string(text), "\n") {
		if words := strings.Fields(line); len(words) == 2 && !strings.HasPrefix(line, "#") {
			return words[0], words[1]
		}
	}
	log.Fatal("there is no key in ", file)
	return
}

func main() {
	// Publish: the document and its picture are stored in one transaction.
	picture, err := os.ReadFile(os.Args[2])
	check(err)
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	check(writer.WriteField("notification", `{"owner":"ann","message":"Look who is here","rich_type":"img","ttl":3600}`))
	part, err := writer.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="payload"; filename="photo.jpg"`}, "Content-Type": {"image/jpeg"},
	})
	check(err)
	_, err = part.Write(picture)
	check(err)
	check(writer.Close())
	published, _ := call("PUT", "/v1/notifications/42", form.Bytes(), "Content-Type", writer.FormDataContentType())
	fmt.Println("published:", published.StatusCode)

	// The push for APNs. Send it as it is; it has the id, not the picture.
	_, push := call("GET", "/v1/notifications/42/envelope?platform=apns&style=alert", nil)
	fmt.Printf("push: %s\n", push)

	// Fetch: the entity tag is the digest of the bytes. (Go asks for gzip and decodes it; a picture has no such form.)
	fetched, body := call("GET", "/v1/notifications/42/payload", nil)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(body))
	if fetched.Header.Get("ETag") != `"`+digest+`"` {
		digest = "damaged"
	}
	fmt.Println("fetched:", len(body), "bytes,", digest)

	// Follow the feed: all changes first, then those after the cursor. The second call waits for one.
	cursor := follow("0", 0)
	call("PATCH", "/v1/notifications/42", []byte(`{"read":true}`),
		"Content-Type", "application/merge-patch+json", "Blobd-Device", "phone")
	follow(cursor, 30)

	// A signed link, with which a device fetches by itself: through nginx from the device socket.
	keyID, secret := signingKey(os.Args[3])
	key, err := base64.StdEncoding.DecodeString(secret)
	check(err)
	path, expiry := "/d/42", time.Now().Unix()+3600
	code := hmac.New(sha256.New, key)
	fmt.Fprintf(code, "GET\n%s\n%d\n%s", path, expiry, keyID)
	link := fmt.Sprintf("%s?e=%d&k=%s&sig=%s", path, expiry, keyID, base64.RawURLEncoding.EncodeToString(code.Sum(nil)))
	linked, body := call("GET", link, nil)
	fmt.Println("by link:", linked.StatusCode, len(body), "bytes")
}
