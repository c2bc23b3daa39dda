package alert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"strings"
	"time"
)

// Mail holds the settings of the mail server that sends notifications.
type Mail struct {
	Server   string // host:port; empty if e-mail is not configured
	TLS      string // "starttls", "tls" or "none"
	Username string
	Password string
	From     string
	Roots    *tls.Config // TLS settings for tests; nil for the system's certificates
}

// ErrNoMail is returned if the operator has not configured a mail server.
var ErrNoMail = errors.New("no mail server is configured; set alerts.smtp in the configuration")

// send sends an event as an e-mail.
func (m Mail) send(ctx context.Context, to []string, e *Event, dashboard string) error {
	if m.Server == "" {
		return ErrNoMail
	}
	from, err := mail.ParseAddress(m.From)
	if err != nil {
		return errors.New("alerts.smtp.from is not an e-mail address")
	}
	message, err := compose(from, to, e, dashboard)
	if err != nil {
		return err
	}
	client, conn, err := m.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // Quit below reports the errors
	if m.Username != "" {
		host, _, _ := net.SplitHostPort(m.Server)
		if err := client.Auth(smtp.PlainAuth("", m.Username, m.Password, host)); err != nil {
			return errors.New("the mail server rejected the user name or password")
		}
	}
	if err := transmit(client, from.Address, to, message); err != nil {
		return fmt.Errorf("the mail server rejected the message: %w", err)
	}
	return client.Quit()
}

// dial connects to the mail server and starts TLS. It never continues without TLS unless the configuration allows it.
func (m Mail) dial(ctx context.Context) (*smtp.Client, net.Conn, error) {
	host, _, err := net.SplitHostPort(m.Server)
	if err != nil {
		return nil, nil, errors.New("alerts.smtp.server must be host:port")
	}
	settings := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if m.Roots != nil {
		settings.RootCAs = m.Roots.RootCAs
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Server)
	if err != nil {
		return nil, nil, errors.New("the mail server could not be reached")
	}
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline) // the error is ignored: the first read or write would fail too
	if m.TLS == "tls" {
		conn = tls.Client(conn, settings)
	}
	client, err := smtp.NewClient(conn, host)
	if err != nil {
		_ = conn.Close()
		return nil, nil, errors.New("the mail server sent no valid SMTP greeting; check alerts.smtp.server and alerts.smtp.tls")
	}
	if m.TLS == "starttls" {
		if err := client.StartTLS(settings); err != nil {
			_ = conn.Close()
			return nil, nil, errors.New("the mail server did not accept STARTTLS")
		}
	}
	return client, conn, nil
}

func transmit(client *smtp.Client, from string, to []string, message []byte) error {
	if err := client.Mail(from); err != nil {
		return err
	}
	for _, address := range to {
		if err := client.Rcpt(address); err != nil {
			return err
		}
	}
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(message); err != nil {
		return err
	}
	return w.Close()
}

// compose returns the message with its headers. Header values are encoded, so that a rule name cannot add headers.
func compose(from *mail.Address, to []string, e *Event, dashboard string) ([]byte, error) {
	var b bytes.Buffer
	_, domain, _ := strings.Cut(from.Address, "@")
	for _, h := range [][2]string{
		{"From", from.String()},
		{"To", strings.Join(to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", e.Title())},
		{"Date", e.At.UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + e.ID + "@" + domain + ">"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
		{"Auto-Submitted", "auto-generated"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	text := quotedprintable.NewWriter(&b)
	body := e.Sentence() + "\r\n"
	if link := e.link(dashboard); link != "" {
		body += "\r\n" + link + "\r\n"
	}
	if _, err := text.Write([]byte(body)); err != nil {
		return nil, err
	}
	if err := text.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
