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
}

func changes(query string) (result page) {
	_, body := call("GET", "/v1/users/ann/changes?"+query, nil)
	check(json.Unmarshal(body, &result))
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
	first := changes("since=0")
	for _, change := range first.Changes {
		fmt.Println("change:", change.Kind, change.ID)
	}
	call("PATCH", "/v1/notifications/42", []byte(`{"read":true}`),
		"Content-Type", "application/merge-patch+json", "Blobd-Device", "phone")
	for _, change := range changes("since=" + first.Next + "&wait=30").Changes {
		fmt.Println("change:", change.Kind, change.ID, "by", change.Device)
	}

	// A signed link, with which a device fetches by itself: through nginx from the device socket.
	keys, err := os.ReadFile(os.Args[3])
	check(err)
	keyID, secret := strings.Fields(string(keys))[0], strings.Fields(string(keys))[1]
	key, err := base64.StdEncoding.DecodeString(secret)
	check(err)
	path, expiry := "/d/42", time.Now().Unix()+3600
	code := hmac.New(sha256.New, key)
	fmt.Fprintf(code, "GET\n%s\n%d\n%s", path, expiry, keyID)
	link := fmt.Sprintf("%s?e=%d&k=%s&sig=%s", path, expiry, keyID, base64.RawURLEncoding.EncodeToString(code.Sum(nil)))
	linked, body := call("GET", link, nil)
	fmt.Println("by link:", linked.StatusCode, len(body), "bytes")
}
