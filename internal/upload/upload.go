// Package upload reads request bodies into memory. The size of each body and the total size of all bodies are limited.
package upload

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
)

const (
	// Large is the minimum body size at which decoding takes long enough to delay other requests.
	Large = 1 << 20
	// firstBuffer is the maximum initial size of a buffer. A larger Content-Length is not trusted until data arrives.
	firstBuffer = 64 << 10
	// firstRead is the initial size of a buffer if the Content-Length exceeds firstBuffer. It is small, because its data is copied later.
	firstRead = 16 << 10
	// maxTime is the maximum time to read one body. It is enough for the largest body over a slow connection.
	maxTime = 5 * time.Minute
	// decodedCopies is the additional memory for decoding a body and encoding it for a provider, as a multiple of the body size.
	decodedCopies = 3
	// decodedPart is the estimated memory in bytes for each key or list element of a body. It covers a message part, its entries in
	// two slices, and unused capacity.
	decodedPart = 400
)

// Limits configures the limits for reading a body.
type Limits struct {
	Body  int64         // maximum size of one body in bytes
	Total int64         // maximum total size of all bodies in bytes
	Pause time.Duration // maximum time to wait for the next data from the client
}

// Body holds a request body and the number of bytes that it has reserved from a Budget.
type Body struct {
	Bytes []byte

	budget    *Budget
	workspace string
	total     int64 // maximum total size of all bodies in bytes
	announced int64 // Content-Length; negative when absent
	held      int64
	decoding  int64 // part of held that is reserved for decoding the body
}

// Read reads the whole body of r, because net/http may discard the unread part of a body when the response starts. The memory
// counts against the budget until Release is called. For a large body, the memory includes an estimate for decoding until ReleaseDecoding
// is called. For small bodies, the estimate is omitted, because only a few small bodies are decoded at a time. Errors are *llm.Error.
func (b *Budget) Read(w http.ResponseWriter, r *http.Request, op llm.Op, workspace string, limits Limits) (*Body, error) {
	check := CheckMedia
	if op == llm.Transcribe || op == llm.FileObjects {
		check = checkForm
	}
	if err := check(r.Header); err != nil {
		return nil, err
	}
	if r.ContentLength > limits.Body {
		return nil, TooLarge(limits.Body)
	}
	body := &Body{budget: b, workspace: workspace, total: limits.Total, announced: r.ContentLength}
	in := &deadlineReader{
		Reader: http.MaxBytesReader(w, r.Body, limits.Body), conn: *http.NewResponseController(w),
		pause: limits.Pause, last: time.Now().Add(maxTime),
	}
	if err := body.readDecoded(in, r.Header.Get("Content-Encoding"), limits.Body); err != nil {
		body.Release()
		return nil, readError(r, err, limits.Body)
	}
	_ = in.conn.SetReadDeadline(time.Time{}) // the error is ignored: not every connection supports deadlines
	if body.Large() {
		if err := body.reserveDecoding(op); err != nil {
			body.Release()
			return nil, err
		}
	}
	return body, nil
}

// Large reports whether decoding the body takes long enough to delay other requests.
func (b *Body) Large() bool { return len(b.Bytes) >= Large }

// Release returns the memory of the body to the budget. It does nothing for a body that was not read by a Budget.
func (b *Body) Release() {
	if b.budget != nil {
		b.budget.release(b.workspace, b.held)
	}
}

// ReleaseDecoding returns the memory that was reserved for decoding. It does nothing for small bodies.
func (b *Body) ReleaseDecoding() {
	if b.decoding > 0 {
		b.budget.release(b.workspace, b.decoding)
		b.held -= b.decoding
		b.decoding = 0
	}
}

// reserveDecoding reserves the memory needed to decode the body. It rejects a body that exceeds the structural limits before
// decoding starts.
func (b *Body) reserveDecoding(op llm.Op) error {
	if op == llm.Transcribe || op == llm.FileObjects { // reserve memory for a copy of the form in which the model names are replaced
		n := int64(len(b.Bytes))
		if op == llm.FileObjects {
			n *= decodedCopies
		}
		n = min(n, b.total-b.held)
		if err := b.take(n); err != nil {
			return err
		}
		b.decoding = n
		return nil
	}
	size, err := strict.Measure(b.Bytes)
	if op == llm.Embed || op == llm.Complete {
		if size.Elements > strict.MaxElements {
			err = nil // the elements may be token IDs, whose number is not limited; the decoder limits all other elements
		}
		size.Elements = 0 // token IDs are not decoded
	}
	if err != nil {
		return err
	}
	n := decodedCopies*int64(len(b.Bytes)) + decodedPart*int64(size.Keys+size.Elements)
	n = min(n, b.total-b.held) // a single body may use the whole budget
	if err := b.take(n); err != nil {
		return err
	}
	b.decoding = n
	return nil
}

// maxWindow is the maximum memory for the window of a zstd decoder. It is the minimum that RFC 9659 requires.
const maxWindow = 8 << 20

// readDecoded reads a body with the given Content-Encoding. The limit applies to the decoded bytes, too.
func (b *Body) readDecoded(in io.Reader, encoding string, limit int64) error {
	var decoded io.ReadCloser
	var err error
	switch strings.ToLower(encoding) {
	case "", "identity":
		return b.readAll(in, limit)
	case "gzip":
		decoded, err = gzip.NewReader(in)
	case "zstd":
		if err := b.take(maxWindow); err != nil {
			return err
		}
		var d *zstd.Decoder
		if d, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			decoded = d.IOReadCloser()
		}
	default:
		return llm.Errorf(llm.UnsupportedMediaType, "Content-Encoding %q is not supported. Send the body with gzip or zstd, or uncompressed.", clip(encoding))
	}
	if err != nil {
		return err
	}
	defer func() { _ = decoded.Close() }() // reading has reported any error
	b.announced = -1
	return b.readAll(http.MaxBytesReader(nil, decoded, limit), limit)
}

// firstReads is a pool of buffers for the first read of bodies whose Content-Length is above firstBuffer.
var firstReads = sync.Pool{New: func() any { return new([firstRead]byte) }}

// readAll reads r to its end. The buffer starts small and then grows to the Content-Length, or doubles up to the limit if there is none.
func (b *Body) readAll(r io.Reader, limit int64) error {
	var first *[firstRead]byte // the buffer is returned to the pool after its data is copied
	for {
		if len(b.Bytes) == cap(b.Bytes) {
			have := int64(len(b.Bytes))
			n := b.announced + 1 - have // one more byte lets Read return EOF without growing the buffer
			if n <= 0 {
				n = max(min(have, limit+1-have), firstBuffer)
			} else if have == 0 && n > firstBuffer {
				n = firstRead
			}
			if err := b.take(n); err != nil {
				return err
			}
			if n == firstRead && have == 0 {
				first = firstReads.Get().(*[firstRead]byte)
				b.Bytes = first[:0]
			} else {
				b.Bytes = append(make([]byte, 0, have+n), b.Bytes...) // slices.Grow would add a quarter of unused capacity
				if first != nil {
					firstReads.Put(first)
					first = nil
				}
			}
		}
		n, err := r.Read(b.Bytes[len(b.Bytes):cap(b.Bytes)])
		b.Bytes = b.Bytes[:len(b.Bytes)+n]
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take reserves n more bytes.
func (b *Body) take(n int64) error {
	if !b.budget.take(b.workspace, n, b.held, b.total) {
		e := llm.Errorf(llm.Overloaded, "The gateway has no memory left for request bodies. Retry in 1 second.")
		e.RetryAfter = time.Second
		return e
	}
	b.held += n
	return nil
}

// deadlineReader limits each pause of the client and the total time for the body.
type deadlineReader struct {
	io.Reader
	conn  http.ResponseController
	pause time.Duration
	last  time.Time
}

// Read implements io.Reader.
func (d *deadlineReader) Read(p []byte) (int, error) {
	until := time.Now().Add(d.pause)
	if until.After(d.last) {
		until = d.last
	}
	_ = d.conn.SetReadDeadline(until) // the error is ignored: not every connection supports deadlines
	n, err := d.Reader.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, llm.Errorf(llm.InvalidRequest, "The request body did not arrive: the client paused for %s or took longer than %s in total. Send the body without pauses.", d.pause, maxTime)
	}
	return n, err
}

// readError returns the error for a body that could not be read. If the connection did not fail, its encoding is malformed.
func readError(r *http.Request, err error, limit int64) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return TooLarge(limit)
	}
	if _, broken := errors.AsType[net.Error](err); broken || errors.Is(err, io.ErrUnexpectedEOF) && r.Header.Get("Content-Encoding") == "" || r.Context().Err() != nil {
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped sending before the request was complete.", Err: err}
	}
	return &llm.Error{Kind: llm.InvalidRequest, Message: "The request body cannot be read because its encoding is malformed.", Err: err}
}

// TooLarge returns the error for a body larger than limit bytes.
func TooLarge(limit int64) error {
	size := fmt.Sprintf("%d KiB", max(1, limit>>10))
	if limit >= 1<<20 {
		size = fmt.Sprintf("%d MiB", limit>>20)
	}
	return llm.Errorf(llm.PayloadTooLarge, "The request body is larger than the limit of %s. Send a smaller body or raise limits.body.", size).
		With("limit_bytes", limit)
}

// CheckMedia returns UnsupportedMediaType for a body that is not JSON.
func CheckMedia(h http.Header) error {
	if h.Get("Content-Type") == "application/json" {
		return nil // do not parse the most common value
	}
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")) {
		return nil
	}
	return llm.Errorf(llm.UnsupportedMediaType, "Content-Type %q is not JSON. Send the body with Content-Type: application/json.", clip(h.Get("Content-Type")))
}

// checkForm returns UnsupportedMediaType for a body that is not a multipart form.
func checkForm(h http.Header) error {
	if media, _, err := mime.ParseMediaType(h.Get("Content-Type")); err == nil && media == "multipart/form-data" {
		return nil
	}
	return llm.Errorf(llm.UnsupportedMediaType, "Content-Type %q is not a form. Send the file with Content-Type: multipart/form-data.", clip(h.Get("Content-Type")))
}

// clip truncates a header value for an error message.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
