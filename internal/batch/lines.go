package batch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

const (
	maxParts = 32      // maximum number of parts in a form
	maxField = 4 << 10 // maximum length in bytes of a field other than the file
	// MaxModels is the maximum number of models that one file may name.
	MaxModels = 20
	// maxLine is the maximum length of a result line.
	maxLine = 64 << 20
)

// operations maps the endpoints that requests in a file may call to their operations.
var operations = map[string]llm.Op{
	"/v1/chat/completions": llm.Chat, "/v1/responses": llm.Chat, "/v1/embeddings": llm.Embed, "/v1/completions": llm.Complete,
	"/v1/moderations": llm.Moderate,
}

// Form is an uploaded file with the fields of its form.
type Form struct {
	parts []part
	file  int // index of the file in parts
}

type part struct {
	header map[string][]string
	name   string
	body   []byte
}

// invalid returns an error about a field of the form.
func invalid(param, format string, args ...any) error {
	return strict.Reject(strict.Problem{Param: param, Message: fmt.Sprintf(format, args...)})
}

// ReadForm parses a multipart form with one file for a batch. The form keeps references to body.
func ReadForm(contentType string, body []byte) (*Form, error) {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil || params["boundary"] == "" {
		return nil, invalid("", "Content-Type has no boundary. Send the file with Content-Type: multipart/form-data.")
	}
	f, purpose := &Form{file: -1}, ""
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || len(f.parts) == maxParts {
			return nil, invalid("", "The body is not a complete multipart form with at most %d parts.", maxParts)
		}
		if p.Header, err = strict.PartHeader(p.Header); err != nil {
			return nil, err
		}
		one := part{header: p.Header, name: p.FormName()}
		if one.body, err = io.ReadAll(p); err != nil {
			return nil, invalid("", "The body is not a complete multipart form with at most %d parts.", maxParts)
		}
		if p, found := strict.LookAlike("", one.name, "file", "purpose"); found {
			return nil, strict.Reject(p)
		}
		switch {
		case slices.ContainsFunc(f.parts, func(other part) bool { return other.name == one.name }):
			return nil, invalid(one.name, "The field %s appears twice. Send it once.", show.Quote(one.name))
		case one.name == "file":
			f.file = len(f.parts)
		case len(one.body) > maxField:
			return nil, invalid(one.name, "The field %s is too long.", show.Quote(one.name))
		case one.name == "purpose":
			purpose = string(one.body)
		}
		f.parts = append(f.parts, one)
	}
	if f.file < 0 || len(f.parts[f.file].body) == 0 {
		return nil, invalid("file", "The field file is missing. Send the file.")
	}
	if purpose != Purpose {
		return nil, invalid("purpose", "The purpose %s is not supported. The gateway accepts files for batches: send purpose %s.", show.Quote(purpose), Purpose)
	}
	return f, nil
}

// Encode returns the form as a request body for a provider, and the content type.
func (f *Form) Encode() (body []byte, contentType string, err error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range f.parts {
		to, err := w.CreatePart(p.header)
		if err != nil {
			return nil, "", err
		}
		if _, err := to.Write(p.body); err != nil {
			return nil, "", err
		}
	}
	err = w.Close()
	return out.Bytes(), w.FormDataContentType(), err
}

// Models returns the combinations of model and operation in the requests of the file, each once, with the figures of their requests. Model is the name as written in the file.
// Every line must be a request to a known endpoint.
func (f *Form) Models(ctx context.Context) ([]Use, error) {
	var uses []Use
	err := f.each(ctx, func(number int, _ []byte, body rawjson.Value, use Use) error {
		i := slices.IndexFunc(uses, func(u Use) bool { return u.Model == use.Model && u.Op == use.Op })
		if i < 0 && len(uses) == MaxModels {
			return invalid("file", "Line %d of the file names another model, but a file can use at most %d models. Split the file.", number, MaxModels)
		}
		if i < 0 {
			i, uses = len(uses), append(uses, use)
		}
		uses[i].count(body)
		return nil
	})
	return uses, err
}

// Request members that refer to an object in the provider account.
const (
	FileID           = "file_id"
	PreviousResponse = "previous_response_id"
)

// Rename replaces the model names and the object ids in the requests of the file. The functions model and object return the new values.
// member is FileID or PreviousResponse.
func (f *Form) Rename(ctx context.Context, model func(name string) string, object func(member, id string) (string, error)) error {
	var out bytes.Buffer
	out.Grow(len(f.parts[f.file].body))
	err := f.each(ctx, func(number int, line []byte, body rawjson.Value, use Use) error {
		written := 0
		err := eachName(body, func(member string, at rawjson.Value) (err error) {
			var name string
			if member == "model" {
				name = model(use.Model)
			} else if name, err = object(member, at.String()); err != nil {
				e := *llm.AsError(err)
				e.Param, e.Message = "file", fmt.Sprintf("Line %d of the file: %s", number, e.Message)
				return &e
			}
			out.Write(line[written:at.Index])
			out.Write(rawjson.AppendString(nil, name))
			written = at.Index + len(at.Raw)
			return nil
		})
		out.Write(line[written:])
		out.WriteByte('\n')
		return err
	})
	f.parts[f.file].body = out.Bytes()
	return err
}

// eachName calls fn for the members of a request body that Rename replaces, in the order in which they occur. Metadata is skipped
// because it belongs to the client.
func eachName(body rawjson.Value, fn func(member string, at rawjson.Value) error) (err error) {
	body.ForEach(func(key, value rawjson.Value) bool {
		switch name := key.String(); {
		case name == "metadata":
		case value.Kind == rawjson.Text && (name == "model" || name == PreviousResponse):
			err = fn(name, value)
		default:
			err = eachFileID(name, value, fn)
		}
		return err == nil
	})
	return err
}

// eachFileID calls fn for every file ID in the value v of the member with the given name. File IDs are the values of file_id and file_ids at
// any depth.
func eachFileID(name string, v rawjson.Value, fn func(member string, at rawjson.Value) error) (err error) {
	if v.Kind == rawjson.Text && (name == "file_id" || name == "file_ids") {
		return fn(FileID, v)
	}
	v.ForEach(func(key, value rawjson.Value) bool {
		inner := name // an element of a list is treated as if it had the name of the list
		if v.IsObject() {
			inner = key.String()
		}
		err = eachFileID(inner, value, fn)
		return err == nil
	})
	return err
}

// each calls read for every request of the file. It parses lines strictly, so that the provider runs the model that the gateway checked.
func (f *Form) each(ctx context.Context, read func(number int, line []byte, body rawjson.Value, use Use) error) error {
	number, requests := 0, 0
	for line := range bytes.Lines(f.parts[f.file].body) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if _, err := strict.Object(ctx, line); err != nil {
			e := *llm.AsError(err)
			e.Message = fmt.Sprintf("Line %d of the file is not a request: %s", number, e.Message)
			return &e
		}
		v := rawjson.Parse(line)
		if p, found := lookAlike(v); found {
			return invalid("file", "Line %d of the file: %s", number, p.Message)
		}
		body, use := v.Get("body"), Use{Op: operations[v.Get("url").String()]}
		at := body.Get("model")
		switch {
		case use.Op == "":
			return invalid("file", "Line %d of the file has no supported url. Use /v1/chat/completions, /v1/responses, /v1/embeddings, /v1/completions or /v1/moderations.", number)
		case at.Kind != rawjson.Text || at.String() == "":
			return invalid("file", "Line %d of the file has no model in its body.", number)
		}
		use.Model = at.String()
		requests++
		if err := read(number, line, body, use); err != nil {
			return err
		}
	}
	if requests == 0 {
		return invalid("file", "The file has no requests.")
	}
	return nil
}

// lookAlike returns the first member of a request, or of its body, that some provider could read as another member.
func lookAlike(request rawjson.Value) (p strict.Problem, found bool) {
	request.ForEach(func(key, _ rawjson.Value) bool {
		p, found = strict.LookAlike("", key.String(), "custom_id", "method", "url", "body")
		return !found
	})
	request.Get("body").ForEach(func(key, _ rawjson.Value) bool {
		if !found {
			p, found = strict.LookAlike("", key.String(), "model", PreviousResponse, "n", "best_of", "max_tokens", "max_completion_tokens", "max_output_tokens")
		}
		return !found
	})
	return p, found
}

// Result is the usage of one batch request.
type Result struct {
	Model string // model name that the provider reports
	Usage llm.Usage
}

// ReadResults calls add for every successful request in a result file. It returns an error if the file cannot be read to its end, if
// a successful response has no plausible usage, or if the file has more than MaxModels models or a model name that is too long.
func ReadResults(r io.Reader, add func(Result)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	models := map[string]bool{}
	for lines.Scan() {
		v := rawjson.Parse(lines.Bytes())
		if status := v.Get("response").Get("status_code").Int(); status < 200 || status > 299 {
			continue // failed requests are not charged
		}
		body := v.Get("response").Get("body")
		u, ok := usageOf(body.Get("usage"))
		if !ok || !body.Get("usage").IsObject() {
			return fmt.Errorf("the token usage of result %s is missing or invalid", show.Quote(v.Get("custom_id").String()))
		}
		model := body.Get("model").String()
		if models[model] = true; len(models) > MaxModels || len(model) > strict.MaxName {
			return fmt.Errorf("the results contain more than %d models or a model name that is too long", MaxModels)
		}
		add(Result{Model: model, Usage: u})
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	return nil
}
