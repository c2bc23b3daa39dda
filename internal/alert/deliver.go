package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/vault"
)

// Doer makes HTTP calls. It rejects addresses that workspaces may not call, and does not follow redirects.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Sealer encrypts and decrypts channel secrets.
type Sealer interface {
	Seal(provider, credentialID, text string) []byte
	Open(c vault.Credential) (string, error)
}

// Sender sends notifications to the channels of workspaces.
type Sender struct {
	HTTP      Doer
	Sealer    Sealer
	Mail      func() Mail   // returns the configured mail server
	Dashboard func() string // returns the address of the dashboard, which may be empty
	Version   string
}

const (
	sendTime  = 10 * time.Second // timeout of one attempt
	lease     = time.Minute      // time after which an attempt without a stored result is repeated
	maxAnswer = 64 << 10         // maximum number of response bytes to read so that the connection can be reused
)

// retries are the delays before the second and later attempts. If the last attempt fails, the delivery has failed.
var retries = [...]time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// sealedAs replaces the provider name when channel secrets are encrypted. It separates them from provider credentials.
const sealedAs = "alert channel"

// secrets decrypts the secrets of a channel.
func (s *Sender) secrets(c *Channel) (Secrets, error) {
	var secrets Secrets
	text, err := s.Sealer.Open(vault.Credential{Provider: sealedAs, ID: c.ID, Sealed: c.Sealed})
	if err == nil {
		err = json.Unmarshal([]byte(text), &secrets)
	}
	if err != nil {
		return secrets, errors.New("the stored channel cannot be decrypted with this master key")
	}
	return secrets, nil
}

// Send makes one attempt to deliver an event. Errors contain no secret URL, signing key or HTTP response body. They may contain the reply of
// the mail server.
func (s *Sender) Send(ctx context.Context, c *Channel, e *Event, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	secrets, err := s.secrets(c)
	if err != nil {
		return err
	}
	dashboard := s.Dashboard()
	switch c.Type {
	case Webhook:
		body, err := e.body(dashboard)
		if err != nil {
			return err
		}
		// The headers of the Standard Webhooks specification. The receiver checks the signature and the age of the timestamp, and
		// ignores an ID that it has already received.
		return s.post(ctx, secrets.URL, body, func(h http.Header) error {
			signature, err := Sign(secrets.Key, e.ID, now, body)
			if err != nil {
				return err
			}
			h.Set("Webhook-Id", e.ID)
			h.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
			h.Set("Webhook-Signature", signature)
			h.Set("Idempotency-Key", e.ID)
			return nil
		})
	case Slack:
		escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;") // links and mentions begin with these characters
		text := "*" + escape.Replace(e.Title()) + "*\n" + escape.Replace(e.Sentence())
		if link := e.link(dashboard); link != "" {
			text += "\n<" + link + "|Open alerts>"
		}
		body, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			return err
		}
		return s.post(ctx, secrets.URL, body, func(http.Header) error { return nil })
	case Email:
		return s.Mail().send(ctx, secrets.To, e, dashboard)
	}
	return fmt.Errorf("unknown channel type %q", c.Type)
}

// post sends a JSON body. Every status except 2xx is an error.
func (s *Sender) post(ctx context.Context, url string, body []byte, headers func(http.Header) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the stored URL is invalid")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Fairlead/"+s.Version)
	if err := headers(req.Header); err != nil {
		return err
	}
	resp, err := s.HTTP.Do(req)
	if err != nil { // omit the address, which may be secret, from the error
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return fmt.Errorf("no response within %s", sendTime)
		}
		if e, ok := errors.AsType[*llm.Error](err); ok {
			return errors.New(e.Message)
		}
		return errors.New("the endpoint could not be reached")
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // the body is not used
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the endpoint returned status %d", resp.StatusCode)
	}
	return nil
}

// finish sets the result of an attempt.
func (d *Delivery) finish(err error, now time.Time) {
	d.UpdatedAt, d.Error, d.State = now, "", Delivered
	if err == nil {
		return
	}
	d.Error, d.State = clip(err.Error(), 300), Failed
	if d.Attempts <= len(retries) {
		d.State, d.NextAt = Pending, now.Add(retries[d.Attempts-1])
	}
}

// clip truncates text to at most n bytes, at a character boundary.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n]
}
