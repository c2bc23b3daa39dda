package alert

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/vault"
)

// plainSealer stores secrets without encryption.
type plainSealer struct{}

func (plainSealer) Seal(_, _, text string) []byte           { return []byte(text) }
func (plainSealer) Open(c vault.Credential) (string, error) { return string(c.Sealed), nil }

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func newSender() *Sender {
	return &Sender{
		HTTP: doer(http.DefaultTransport.RoundTrip), Sealer: plainSealer{}, Mail: func() Mail { return Mail{} }, Dashboard: func() string { return "https://gw.example.com/" }, Version: "test",
	}
}

func channelOf(t *testing.T, kind ChannelType, s Secrets) *Channel {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return &Channel{ID: "chan_1", Type: kind, Sealed: text}
}

var crossing = Event{
	ID: "alrt_1", WorkspaceID: "ws_1", Type: Firing,
	EventRule: EventRule{RuleID: "rule_1", RuleName: "Errors <b> & co", Kind: ErrorRate, Threshold: 5, Window: "15m"},
	Value:     12.5, At: noon,
}

// verify is the example code from docs/guides/alerts.md.
func verify(secret string, h http.Header, body []byte, now time.Time) error {
	seconds, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return errors.New("timestamp missing or too old")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.%s", h.Get("Webhook-Id"), seconds, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if !hmac.Equal([]byte(want), []byte(h.Get("Webhook-Signature"))) {
		return errors.New("wrong signature")
	}
	return nil
}

func TestWebhooksAreSigned(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	key := newSigningKey()
	if err := newSender().Send(t.Context(), channelOf(t, Webhook, Secrets{URL: server.URL, Key: key}), &crossing, noon); err != nil {
		t.Fatal(err)
	}
	if err := verify(key, got.Header, body, noon.Add(time.Minute)); err != nil {
		t.Error(err)
	}
	if verify(key, got.Header, append(body, ' '), noon) == nil {
		t.Error("verify accepts a changed body")
	}
	if verify(newSigningKey(), got.Header, body, noon) == nil {
		t.Error("verify accepts another signing key")
	}
	if verify(key, got.Header, body, noon.Add(time.Hour)) == nil {
		t.Error("verify accepts an old notification")
	}
	var p Payload
	if err := json.Unmarshal(body, &p); err != nil || p.ID != "alrt_1" || p.Type != "alert.firing" || p.Rule.Unit != Percent || p.URL != "https://gw.example.com/alerts" {
		t.Errorf("payload %s: %v", body, err)
	}
	if got.Header.Get("Idempotency-Key") != "alrt_1" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", got.Header)
	}
}

func TestSlackTextIsEscaped(t *testing.T) {
	t.Parallel()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { body, _ = io.ReadAll(r.Body) }))
	defer server.Close()
	if err := newSender().Send(t.Context(), channelOf(t, Slack, Secrets{URL: server.URL}), &crossing, noon); err != nil {
		t.Fatal(err)
	}
	var p struct{ Text string }
	if err := json.Unmarshal(body, &p); err != nil || !strings.Contains(p.Text, "Alert: Errors &lt;b&gt; &amp; co") || !strings.Contains(p.Text, "<https://gw.example.com/alerts|Open alerts>") {
		t.Errorf("%s, %v", body, err)
	}
}

func TestSendErrorsDoNotRevealTheAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "secret body", http.StatusTeapot) }))
	defer server.Close()
	for _, address := range []string{server.URL + "/canary", "http://127.0.0.1:1/canary"} {
		err := newSender().Send(t.Context(), channelOf(t, Slack, Secrets{URL: address}), &crossing, noon)
		if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "secret") {
			t.Errorf("Send to %s: got error %v, want one without the address", address, err)
		}
	}
}

func TestDeliveriesBackOffAndFail(t *testing.T) {
	t.Parallel()
	d := Delivery{State: Pending}
	now, waits := noon, []time.Duration{}
	for d.State == Pending {
		d.Attempts++
		d.finish(errors.New("dead"), now)
		if d.State == Pending {
			waits = append(waits, d.NextAt.Sub(now))
			now = d.NextAt
		}
	}
	if d.State != Failed || d.Attempts != 6 || d.Error != "dead" || len(waits) != 5 || waits[0] != 10*time.Second || waits[4] != time.Hour {
		t.Errorf("%+v after %v", d, waits)
	}
	d = Delivery{State: Pending, Attempts: 3, Error: "dead"}
	if d.finish(nil, now); d.State != Delivered || d.Error != "" {
		t.Errorf("%+v", d)
	}
}

// mailServer accepts one message. The lines that the client sends are delivered on received.
func mailServer(t *testing.T, settings *tls.Config) (address string, received <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	done := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		done <- converse(conn, settings)
	}()
	return listener.Addr().String(), done
}

// converse implements the server side of SMTP with STARTTLS.
func converse(conn net.Conn, settings *tls.Config) string {
	var all strings.Builder
	say := func(text string) { fmt.Fprintf(conn, "%s\r\n", text) }
	say("220 mail.example.com")
	lines := bufio.NewReader(conn)
	for data := false; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return all.String()
		}
		all.WriteString(line)
		verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case data && line == ".\r\n":
			data = false
			say("250 queued")
		case data:
		case verb == "EHLO":
			say("250-mail.example.com\r\n250-STARTTLS\r\n250 AUTH PLAIN")
		case verb == "STARTTLS":
			say("220 go")
			secured := tls.Server(conn, settings)
			conn, lines = secured, bufio.NewReader(secured)
		case verb == "AUTH":
			say("235 ok")
		case verb == "DATA":
			data = true
			say("354 go")
		case verb == "QUIT":
			say("221 bye")
			return all.String()
		default:
			say("250 ok")
		}
	}
}

func TestMailIsSentWithStartTLS(t *testing.T) {
	t.Parallel()
	certificates := httptest.NewTLSServer(nil)
	defer certificates.Close()
	roots := certificates.Client().Transport.(*http.Transport).TLSClientConfig
	address, received := mailServer(t, certificates.TLS)
	m := Mail{Server: address, TLS: "starttls", Username: "me", Password: "secret", From: "Fairlead <alerts@example.com>", Roots: roots}
	event := crossing
	event.RuleName = "Spend\r\nBcc: evil@example.com"
	s := newSender()
	s.Mail = func() Mail { return m }
	if err := s.Send(t.Context(), channelOf(t, Email, Secrets{To: []string{"ops@example.com", "lead@example.com"}}), &event, noon); err != nil {
		t.Fatal(err)
	}
	text := <-received
	for _, want := range []string{"STARTTLS\r\n", "MAIL FROM:<alerts@example.com>", "RCPT TO:<ops@example.com>", "RCPT TO:<lead@example.com>", "Message-ID: <alrt_1@example.com>", "Error rate: 12.5 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\r\nBcc:") || strings.Index(text, "AUTH") < strings.Index(text, "STARTTLS") {
		t.Errorf("unsafe message:\n%s", text)
	}
}

func TestMailIsNotSentWithoutTLS(t *testing.T) {
	t.Parallel()
	address, received := mailServer(t, &tls.Config{}) //nolint:gosec // the server has no certificate, so the handshake fails
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	m := Mail{Server: address, TLS: "starttls", Username: "me", Password: "secret", From: "alerts@example.com"}
	if err := m.send(ctx, []string{"ops@example.com"}, &crossing, ""); err == nil {
		t.Error("mail was sent without TLS")
	}
	if text := <-received; strings.Contains(text, "AUTH") || strings.Contains(text, "MAIL") {
		t.Errorf("the server received %s", text)
	}
	if err := (Mail{}).send(ctx, nil, &crossing, ""); !errors.Is(err, ErrNoMail) {
		t.Errorf("send without a server: got %v, want ErrNoMail", err)
	}
}
