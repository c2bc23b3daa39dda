package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/config"
)

// NewSink returns the configured receiver.
func NewSink(c config.Export, version string) Sink {
	switch {
	case c.File != "":
		return File{Path: c.File}
	case c.OTLP != "":
		return OTLP{newPost(strings.TrimSuffix(c.OTLP, "/")+"/v1/logs", c.Headers, version), version}
	}
	return Webhook{newPost(c.Webhook, c.Headers, version), c.Secret}
}

// File appends JSON lines to a file. It opens the file for each batch, so that the file can be rotated by renaming it.
type File struct{ Path string }

// Send implements Sink. The lines are on disk when it returns.
func (f File) Send(_ context.Context, lines []Line) (err error) {
	file, err := os.OpenFile(f.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	end, err := endOfLines(file)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(joinLines(lines), end); err != nil {
		return errors.Join(err, file.Truncate(end)) // remove the part of a line that fitted on a full disk
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if end > 0 {
		return nil
	}
	dir, err := os.Open(filepath.Dir(f.Path)) // the name of a new file must survive a power failure, too
	if err != nil {
		return err
	}
	_ = dir.Sync() // some systems cannot sync a directory
	return dir.Close()
}

// endOfLines returns the offset after the last complete line and removes a part of a line that a crash left behind it.
func endOfLines(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a file", file.Name())
	}
	end, buffer := info.Size(), make([]byte, 64<<10)
	for end > 0 {
		n := min(end, int64(len(buffer)))
		if _, err := file.ReadAt(buffer[:n], end-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buffer[:n], '\n'); i >= 0 {
			end += int64(i) + 1 - n
			break
		}
		end -= n
	}
	if end == info.Size() {
		return end, nil
	}
	return end, file.Truncate(end)
}

func joinLines(lines []Line) []byte {
	var b bytes.Buffer
	for _, l := range lines {
		b.Write(l.JSON)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// post sends HTTP requests. Unlike the addresses that workspaces enter, the receiver is chosen by the operator and may be on a private
// network.
type post struct {
	client  *http.Client
	url     string
	headers map[string]string
	version string
}

func newPost(address string, headers map[string]string, version string) post {
	return post{client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // another host must not receive the records and the headers
	}}, url: address, headers: headers, version: version}
}

// send sends a body and returns the response body. Every status except 2xx is an error. Errors contain neither headers nor the response.
func (p post) send(ctx context.Context, kind string, body []byte, headers map[string]string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "Fairlead/"+p.version)
	for _, some := range []map[string]string{p.headers, headers} {
		for name, value := range some {
			req.Header.Set(name, value)
		}
	}
	resp, err := p.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address, whose path can be a secret
		}
		return nil, fmt.Errorf("send to %s: %w", req.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("%s returned status %d", req.URL.Host, resp.StatusCode)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read the response of %s: %w", req.URL.Host, err)
	}
	return answer, nil
}

// Webhook sends batches of JSON lines, signed as the Standard Webhooks specification requires.
type Webhook struct {
	post
	secret string
}

// Send implements Sink. The id of a message is derived from its content, so a repeated batch has the same id.
func (w Webhook) Send(ctx context.Context, lines []Line) error {
	body := joinLines(lines)
	sum, now := sha256.Sum256(body), time.Now()
	id := "exp_" + hex.EncodeToString(sum[:16])
	headers := map[string]string{"Webhook-Id": id, "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10)}
	if w.secret != "" {
		signature, err := alert.Sign(w.secret, id, now, body)
		if err != nil {
			return err
		}
		headers["Webhook-Signature"] = signature
	}
	_, err := w.send(ctx, "application/x-ndjson", body, headers)
	return err
}

// OTLP sends log records to an OpenTelemetry collector over HTTP.
type OTLP struct {
	post
	version string
}

// Send implements Sink.
func (o OTLP) Send(ctx context.Context, lines []Line) error {
	records := make([]*logs.LogRecord, len(lines))
	for i, l := range lines {
		records[i] = &logs.LogRecord{
			TimeUnixNano: uint64(l.Time.UnixNano()), ObservedTimeUnixNano: uint64(time.Now().UnixNano()), //nolint:gosec // times after 1970
			SeverityNumber: logs.SeverityNumber_SEVERITY_NUMBER_INFO, SeverityText: "INFO",
			EventName: "fairlead." + l.Type, Body: stringValue(string(l.JSON)),
		}
	}
	body, err := proto.Marshal(&collector.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{
			{Key: "service.name", Value: stringValue("fairlead")}, {Key: "service.version", Value: stringValue(o.version)},
		}},
		ScopeLogs: []*logs.ScopeLogs{{Scope: &common.InstrumentationScope{Name: "fairlead.dev/export"}, LogRecords: records}},
	}}})
	if err != nil {
		return err
	}
	answer, err := o.send(ctx, "application/x-protobuf", body, nil)
	if err != nil {
		return err
	}
	var response collector.ExportLogsServiceResponse
	if err := proto.Unmarshal(answer, &response); err != nil {
		return fmt.Errorf("decode the response of the collector: %w", err)
	}
	if n := response.GetPartialSuccess().GetRejectedLogRecords(); n > 0 {
		return fmt.Errorf("the collector rejected %d of %d records: %s", n, len(lines), response.GetPartialSuccess().GetErrorMessage())
	}
	return nil
}

func stringValue(text string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text}}
}
