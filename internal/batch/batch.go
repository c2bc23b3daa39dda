// Package batch describes files and batches that providers store: the workspace that owns them, the models that the requests in a file
// use, and the usage of a finished batch. It performs no I/O except through Store.
package batch

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Kind is the type of an object: file or batch.
type Kind string

// Kinds of objects.
const (
	File  Kind = "file"
	Batch Kind = "batch"
)

// ServiceTier is the service tier under which a model's price lists its batch price.
const ServiceTier = "batch"

// Purpose is the only purpose that uploaded files can have.
const Purpose = "batch"

// ErrNotFound is returned for an object that the workspace does not own.
var ErrNotFound = errors.New("file or batch not found")

// Object is a file or a batch at a provider, with its owner. Ids are assigned by the provider.
type Object struct {
	WorkspaceID string
	Kind        Kind
	ID          string
	KeyID       string // key that created the object
	Provider    string
	Credential  string // id of the credential for the account that holds the object; empty for a local server
	Uses        []Use  // models used by the requests in an uploaded file or in the batch made from it
	Data        []byte // most recent JSON from the provider
	Settled     bool   // whether the usage of the batch has been recorded
	CreatedAt   time.Time
}

// Owner identifies a workspace that owns a file, and the provider account that holds the file.
type Owner struct {
	WorkspaceID string
	ID          string // ID of the file
	Provider    string
	Credential  string // id of the credential for the account; see Object
}

// Use is a combination of model and operation that occurs in the requests of a file, with figures that limit the cost of these requests.
type Use struct {
	Model     string `json:"model"` // canonical model name
	Op        llm.Op `json:"op"`
	Requests  int64  `json:"requests,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`     // length of the requests, except unsized ones
	Unsized   int64  `json:"unsized,omitempty"`   // number of requests whose prompt may have more tokens than bytes, such as those with images
	Output    int64  `json:"output,omitempty"`    // sum of the output limits
	Unlimited int64  `json:"unlimited,omitempty"` // number of responses without an output limit
}

// MaxOutput is more tokens than any model generates in one response.
const MaxOutput = 1_000_000

// maxChoices is more than the number of responses that providers return to one request.
const maxChoices = 1000

// count adds a request to the figures.
func (u *Use) count(body rawjson.Value) {
	u.Requests++
	// An escaped letter may hide one of the names, so it counts as one.
	unsized := func(name string) bool { return strings.Contains(body.Raw, name) }
	if slices.ContainsFunc([]string{`\u00`, `_url"`, `"file_`, `"input_audio"`, `"` + PreviousResponse, `"conversation"`, `"prompt":{`, `"mcp"`, `"web_search`, `"code_interpreter"`}, unsized) {
		u.Unsized++
	} else {
		u.Bytes += int64(len(body.Raw))
	}
	number := func(name string, limit int64) int64 {
		return int64(min(max(math.Ceil(body.Get(name).Float()), 0), float64(limit)))
	}
	choices := max(number("n", maxChoices), number("best_of", maxChoices), 1)
	limit := max(number("max_tokens", MaxOutput), number("max_completion_tokens", MaxOutput), number("max_output_tokens", MaxOutput))
	if limit == 0 {
		u.Unlimited += choices
	}
	u.Output += choices * limit
}

// Store stores objects. An object is visible only in its workspace.
type Store interface {
	// AddObject stores a new object. If the workspace already has an object with this id, AddObject does not change it.
	AddObject(ctx context.Context, o Object) error
	// Object returns an object of the workspace, or ErrNotFound.
	Object(ctx context.Context, workspaceID string, kind Kind, id string) (Object, error)
	// Objects lists at most limit objects of the workspace, newest first. The list starts after the object whose id is given by after, or
	// with the newest object if after is empty. Objects returns ErrNotFound if the workspace does not have the object given by after.
	Objects(ctx context.Context, workspaceID string, kind Kind, after string, limit int) ([]Object, error)
	// UnsettledBatches returns the batches of all workspaces whose usage has not been recorded, oldest first.
	UnsettledBatches(ctx context.Context) ([]Object, error)
	// SaveObject replaces the JSON of an object.
	SaveObject(ctx context.Context, o Object) error
	// RemoveObject deletes an object. It does nothing if the object is unknown.
	RemoveObject(ctx context.Context, o Object) error
	// SettleObject records the progress of charging a batch. If at is not zero, it is stored as the start of the settlement unless
	// an earlier start is stored. SettleObject returns the stored start. Log entries use this time, so a repeated settlement writes the
	// same entries. If at is zero, SettleObject records that the entries have been written. In both cases, first is false if the entries
	// had already been written or the batch was removed.
	SettleObject(ctx context.Context, o Object, at time.Time) (began time.Time, first bool, err error)
}

// Owners finds the owners of files.
type Owners interface {
	// FileOwners returns the owners, in all workspaces, of the files with these ids. A file without a record has no owner.
	FileOwners(ctx context.Context, ids []string) ([]Owner, error)
}

// Ended reports whether a provider has finished a batch, so that its usage no longer changes.
func Ended(object []byte) bool {
	switch rawjson.Get(object, "status").String() {
	case "completed", "failed", "expired", "cancelled":
		return true
	}
	return false
}

// Results returns the id of the result file of a batch, or an empty string if there is none.
func Results(object []byte) string { return text(object, "output_file_id") }

// Files returns the ids of the files that a batch has created.
func Files(object []byte) (ids []string) {
	for _, name := range []string{"output_file_id", "error_file_id"} {
		if id := text(object, name); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func text(object []byte, name string) string {
	if v := rawjson.Get(object, name); v.Kind == rawjson.Text {
		return v.String()
	}
	return ""
}

// Usage returns the usage that a provider reports for a finished batch, and the provider's name for the model, which may be empty. ok is
// false if the provider reports no usage, or zero tokens although requests have succeeded.
func Usage(object []byte) (model string, u llm.Usage, ok bool) {
	v := rawjson.Parse(object)
	reported := v.Get("usage")
	if !reported.IsObject() {
		return "", u, false
	}
	u, ok = usageOf(reported)
	return text(object, "model"), u, ok && (u.Total() > 0 || v.Get("request_counts.completed").Int() == 0)
}

// usageOf parses a usage object with the field names of the Responses API or of chat completions. ok is false if the figures contradict
// each other or are implausibly high.
func usageOf(v rawjson.Value) (u llm.Usage, ok bool) {
	first := func(names ...string) int64 {
		for _, name := range names {
			if n := v.Get(name); n.Kind == rawjson.Number {
				return n.Int()
			}
		}
		return 0
	}
	prompt, output := first("input_tokens", "prompt_tokens"), first("output_tokens", "completion_tokens")
	cached := first("input_tokens_details.cached_tokens", "prompt_tokens_details.cached_tokens")
	u = llm.Usage{
		Input: prompt - cached, CacheRead: cached, Output: output, ServiceTier: ServiceTier,
		Reasoning:   first("output_tokens_details.reasoning_tokens", "completion_tokens_details.reasoning_tokens"),
		AudioInput:  first("prompt_tokens_details.audio_tokens"),
		AudioOutput: first("completion_tokens_details.audio_tokens"),
	}
	ok = u.Input >= 0 && cached >= 0 && prompt <= llm.MaxTokenCount && output >= 0 && output <= llm.MaxTokenCount && u.Reasoning >= 0 && u.Reasoning <= output &&
		u.AudioInput >= 0 && u.AudioInput <= u.Input && u.AudioOutput >= 0 && u.AudioOutput <= output
	return u, ok
}
