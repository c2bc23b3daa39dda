package media

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"slices"
	"strings"
	"unicode/utf8"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

const (
	maxParts = 64      // maximum number of parts in a form
	maxField = 1 << 20 // maximum length of a field other than the file, in bytes
	// sessionField is the only gateway option that a form can contain. It is not sent to a provider.
	sessionField = "session_id"
)

// fields are the fields of a form that the gateway reads, besides the file.
var fields = []string{"model", "prompt", "stream", sessionField}

// boundary returns the boundary of a form. The first line of the form contains it.
func boundary(body []byte) (string, bool) {
	line, _, found := bytes.Cut(body, []byte("\r\n"))
	name, marked := bytes.CutPrefix(line, []byte("--"))
	return string(name), found && marked && len(name) > 0 && len(name) <= 70
}

// parts calls read for every part of a form until read returns an error. A form must end with its closing boundary.
func parts(body []byte, read func(part *multipart.Part) error) error {
	name, ok := boundary(body)
	if !ok || !bytes.Contains(body, []byte("\r\n--"+name+"--")) {
		return errNoForm
	}
	r := multipart.NewReader(bytes.NewReader(body), name)
	for n := 0; ; n++ {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || n == maxParts {
			return errNoForm
		}
		if part.Header, err = strict.PartHeader(part.Header); err != nil {
			return err
		}
		if err := read(part); err != nil {
			return err
		}
	}
}

var errNoForm = errors.New("not a multipart form")

// form reads the fields of a multipart form. The file is not read.
func (d *decoder) form(body []byte) error {
	seen := map[string]bool{}
	err := parts(body, func(part *multipart.Part) error {
		name := part.FormName()
		if p, found := strict.LookAlike("", name, append([]string{"file"}, fields...)...); found {
			d.doc.Problem(p.Param, "%s", p.Message)
		}
		if seen[name] && !strings.HasSuffix(name, "[]") {
			d.doc.Problem(name, "The field %q appears twice. Send it once.", name)
		}
		seen[name] = true
		if part.FileName() != "" && slices.Contains(fields, name) {
			d.doc.Problem(name, "The field %q is a file. Send it as text, without a file name.", name)
		}
		if part.FileName() != "" || name == "file" {
			n, err := io.Copy(io.Discard, part)
			d.given = d.given || name == "file" && n > 0
			d.req.AttachedBytes += int(n)
			d.req.Unsized++
			return err
		}
		value, err := io.ReadAll(io.LimitReader(part, maxField+1))
		switch {
		case err != nil:
			return err
		case len(value) > maxField:
			d.doc.Problem(name, "The field %q is too long.", name)
		}
		d.field(name, string(value))
		return nil
	})
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if err != nil {
		return strict.Reject(strict.Problem{Message: "The body is not a complete multipart form with at most 64 parts."})
	}
	return nil
}

func (d *decoder) field(name, value string) {
	switch {
	case name == "model" && (strings.TrimSpace(value) == "" || len(value) > strict.MaxName || strings.ContainsAny(value, "\r\n\x00")):
		d.doc.Problem("model", "model must be a valid model name, such as whisper-1.")
	case name == "model":
		d.req.Model = value
	case name == sessionField && (strings.TrimSpace(value) == "" || len(value) > strict.MaxName || strings.ContainsFunc(value, show.Harmful) || !utf8.ValidString(value)):
		d.doc.Problem(sessionField, "session_id must be a name of at most %d bytes without control characters.", strict.MaxName)
	case name == sessionField:
		d.req.Controls.SessionID = value
	case name == "prompt":
		d.addText(value)
	case name == "stream" && value == "true":
		d.rejectStream()
	}
}

// Render returns the body for a provider and its content type. The body has the provider's model name instead of the
// client's, and does not have the gateway's own members.
func Render(req *llm.Request, model string) (body []byte, contentType string, err error) {
	if req.Op != llm.Transcribe {
		return renderJSON(&req.Payload, model), "application/json", nil
	}
	var out bytes.Buffer
	out.Grow(len(req.Body) + len(model))
	w := multipart.NewWriter(&out) // uses a new random boundary, which the client's values cannot contain
	err = parts(req.Body, func(part *multipart.Part) error {
		if part.FormName() == sessionField && part.FileName() == "" {
			return nil
		}
		to, err := w.CreatePart(part.Header)
		if err != nil {
			return err
		}
		if part.FormName() == "model" && part.FileName() == "" {
			_, err = io.WriteString(to, model)
			return err
		}
		_, err = io.Copy(to, part)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), w.FormDataContentType(), err
}
