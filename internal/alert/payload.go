package alert

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Payload is the body of a webhook.
type Payload struct {
	ID        string         `json:"id"`   // ID of the event; the same for every attempt
	Type      string         `json:"type"` // alert.firing, alert.recovered or alert.test
	Time      time.Time      `json:"time"`
	Workspace string         `json:"workspace_id"`
	Title     string         `json:"title"`
	Text      string         `json:"text"`
	Rule      *PayloadRule   `json:"rule,omitempty"`
	Subject   PayloadSubject `json:"subject"`
	Value     float64        `json:"value"`
	Since     *time.Time     `json:"since,omitempty"`
	URL       string         `json:"url,omitempty"` // address of the alerts page in the dashboard; empty if unknown
}

// PayloadRule describes the rule in the body of a webhook.
type PayloadRule struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	Kind      Kind    `json:"kind"`
	Threshold float64 `json:"threshold"`
	Unit      Unit    `json:"unit"`
	Window    Window  `json:"window,omitempty"`
}

// PayloadSubject describes the key or workspace that a figure belongs to.
type PayloadSubject struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// body encodes an event for a webhook.
func (e *Event) body(dashboard string) ([]byte, error) {
	p := Payload{
		ID: e.ID, Type: "alert." + string(e.Type), Time: e.At.UTC(), Workspace: e.WorkspaceID, Title: e.Title(), Text: e.Sentence(),
		Subject: PayloadSubject{e.Subject, e.Label}, Value: e.Value, URL: e.link(dashboard),
	}
	if e.RuleID != "" {
		info, _ := Info(e.Kind)
		p.Rule = &PayloadRule{ID: e.RuleID, Name: e.RuleName, Kind: e.Kind, Threshold: e.Threshold, Unit: info.Unit, Window: e.Window}
	}
	if !e.Since.IsZero() {
		p.Since = new(e.Since.UTC())
	}
	return json.Marshal(p)
}

// link returns the address of the alerts page in the dashboard, or an empty string if dashboard is empty.
func (e *Event) link(dashboard string) string {
	if dashboard == "" {
		return ""
	}
	return strings.TrimSuffix(dashboard, "/") + "/alerts"
}

// keyPrefix is the start of a signing key, as in the Standard Webhooks specification.
const keyPrefix = "whsec_"

// newSigningKey returns a random signing key.
func newSigningKey() string {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails: crypto/rand crashes the process instead
	return keyPrefix + base64.StdEncoding.EncodeToString(key[:])
}

// Sign returns the signature of a webhook: "v1," and the HMAC-SHA256 of id.timestamp.body in base64.
func Sign(key, id string, at time.Time, body []byte) (string, error) {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, keyPrefix))
	if err != nil || len(secret) == 0 {
		return "", errors.New("the stored signing key is invalid")
	}
	mac := hmac.New(sha256.New, secret)
	_, _ = fmt.Fprintf(mac, "%s.%d.", id, at.Unix()) // a hash never fails
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}
