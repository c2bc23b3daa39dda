package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/llm"
)

// Limits on the responses of a gateway and on the time to wait for them.
const (
	maxResponse = 8 << 20
	shortTime   = 10 * time.Second
	answerTime  = 2 * time.Minute
)

// unknownContext is the context window that agents get if the gateway does not know it. Nearly all current models have at least this.
const unknownContext = 128_000

// model is a model or a route in the gateway's list.
type model struct {
	ID        string   `json:"id"`
	Kind      string   `json:"kind"`
	Context   int64    `json:"context_window"`
	MaxOutput int64    `json:"max_output_tokens"`
	Abilities []string `json:"abilities"`
}

func (m model) has(ability string) bool { return slices.Contains(m.Abilities, ability) }

// inputs returns those of the kinds of input that the model accepts: text, image and pdf.
func (m model) inputs(kinds ...string) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool {
		return kind == "image" && !m.has("vision") || kind == "pdf" && !m.has("files")
	})
}

// offer is what a gateway offers to a key.
type offer struct {
	Auto    model // the route auto
	Models  []model
	Context int64 // context window of auto: the smallest of its models
}

// remote is a gateway with a key for it.
type remote struct {
	base   string // address without a path
	key    string
	remote bool // whether its data is on another machine, so that keys are managed with its admin API
}

// send sends a JSON request and returns the response with its body. An error of the gateway is returned with its message.
func (r remote) send(ctx context.Context, limit time.Duration, method, path string, body any) (http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, nil, fmt.Errorf("encode the request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, content)
	if err != nil {
		return nil, nil, fmt.Errorf("build the request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+r.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "fairlead-connect")
	resp, err := new(http.Client).Do(req)
	if err != nil {
		return nil, nil, cli.WithFix(fmt.Errorf("no gateway at %s: %w", r.base, unwrapURL(err)), "start it with  fairlead serve,  or name its address with --server")
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, nil, fmt.Errorf("read the response: %w", err)
	}
	if resp.StatusCode > 299 {
		return resp.Header, nil, &refusedError{status: resp.StatusCode, code: resp.Header.Get("X-Fairlead-Error-Code"), message: errorMessage(answer)}
	}
	return resp.Header, answer, nil
}

// refusedError is an error response of the gateway.
type refusedError struct {
	status  int
	code    string
	message string
}

func (e *refusedError) Error() string {
	return cli.Clean(fmt.Sprintf("the gateway responded with status %d (%s): %s", e.status, e.code, e.message))
}

// errorMessage returns the message of an error object in any of the gateway's forms.
func errorMessage(body []byte) string {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	var text string
	var object struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &e) == nil && json.Unmarshal(e.Error, &text) != nil && json.Unmarshal(e.Error, &object) == nil {
		text = object.Message
	}
	return text
}

// unwrapURL removes the address that net/http repeats in an error.
func unwrapURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// readOffer reads the models that the key may use.
func (r remote) readOffer(ctx context.Context) (offer, error) {
	_, body, err := r.send(ctx, shortTime, http.MethodGet, "/proxy/v1/models", nil)
	if err != nil {
		return offer{}, err
	}
	var list struct{ Data []model }
	if err := json.Unmarshal(body, &list); err != nil {
		return offer{}, fmt.Errorf("%s is not a Fairlead gateway: its model list is not JSON", r.base)
	}
	o := offer{Models: list.Data}
	for _, m := range list.Data {
		if m.ID == "auto" {
			o.Auto = m
		}
	}
	if o.Auto.ID == "" {
		return offer{}, fmt.Errorf("%s is not a Fairlead gateway: it does not offer auto", r.base)
	}
	if o.Auto.MaxOutput == 0 {
		o.Auto.MaxOutput = outputTokens
	}
	if o.Auto.Context == 0 { // with 0, agents shorten the conversation without end
		o.Auto.Context = unknownContext
	}
	o.Context = o.Auto.Context
	return o, nil
}

// answer describes the response to the first request.
type answer struct {
	model, provider, cost string
	simulated             bool
	took                  time.Duration
}

// askOnce sends one short request in the API and with the model name of the agent.
func (r remote) askOnce(ctx context.Context, a *agent) (answer, error) {
	const prompt, limit = "Reply with the word ok.", 64
	user := []any{map[string]string{"role": "user", "content": prompt}}
	var path string
	var body map[string]any
	switch a.api {
	case messages:
		path, body = "/proxy/v1/messages", map[string]any{"model": a.model, "max_tokens": limit, "messages": user}
	case responses:
		path, body = "/proxy/v1/responses", map[string]any{"model": a.model, "max_output_tokens": limit, "input": user}
	case gemini:
		path = "/proxy/v1beta/models/" + a.model + ":generateContent"
		body = map[string]any{
			"contents":         []any{map[string]any{"role": "user", "parts": []any{map[string]string{"text": prompt}}}},
			"generationConfig": map[string]any{"maxOutputTokens": limit},
		}
	default:
		path, body = "/proxy/v1/chat/completions", map[string]any{"model": a.model, "max_tokens": limit, "messages": user}
	}
	began := time.Now()
	h, _, err := r.send(ctx, answerTime, http.MethodPost, path, body)
	if err != nil {
		return answer{}, err
	}
	return answer{
		model: h.Get("X-Fairlead-Model"), provider: h.Get("X-Fairlead-Provider"), cost: h.Get("X-Fairlead-Cost"),
		simulated: h.Get("X-Fairlead-Simulated") == "true", took: time.Since(began),
	}, nil
}

// createKey creates a key with the admin API. It returns ErrCannotCreate if the own key may not create keys.
func (r remote) createKey(ctx context.Context, name string, b *budget) (id, key string, err error) {
	body := map[string]any{"name": name, "scopes": []string{"inference"}}
	if b != nil {
		body["budget"] = map[string]any{"amount_usd": b.amount.String(), "period": b.period}
	}
	_, text, err := r.send(ctx, shortTime, http.MethodPost, "/api/v1/keys", body)
	if refused, ok := errors.AsType[*refusedError](err); ok && refused.code == llm.ScopeDenied.Code() {
		return "", "", errCannotCreate
	}
	if err != nil {
		return "", "", err
	}
	var made struct{ ID, Key string }
	if err := json.Unmarshal(text, &made); err != nil || made.Key == "" {
		return "", "", errors.New("the gateway created no key")
	}
	return made.ID, made.Key, nil
}

var errCannotCreate = errors.New("the key may not create keys")

// codexCatalog returns the model catalog for Codex: the properties of one of its own models, with the limits of auto. Codex offers its tool
// for patches only to models that are in a catalog. The result is nil if Codex is not installed.
func codexCatalog(s *site) ([]byte, error) {
	if s.program == "" {
		return nil, nil
	}
	empty, err := os.MkdirTemp("", "fairlead-codex-") // with its own settings, Codex would list the models of an earlier catalog
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(empty) }()
	ctx, cancel := context.WithTimeout(context.Background(), shortTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, "debug", "models")
	cmd.Env = append(slices.Clone(s.env), "CODEX_HOME="+empty)
	printed, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the models of Codex with  codex debug models: %w", err)
	}
	var known codexModels
	if err := json.Unmarshal(printed, &known); err != nil || len(known.Models) == 0 {
		return nil, errors.New("codex debug models lists no models: update Codex")
	}
	// The newest models of Codex call all tools through one program (tool_mode). Other models have to be offered the tools themselves.
	base := known.Models[0]
	if i := slices.IndexFunc(known.Models, func(m map[string]json.RawMessage) bool { return m["tool_mode"] == nil }); i >= 0 {
		base = known.Models[i]
	}
	catalog := codexModels{}
	for _, m := range s.chatModels() {
		entry := map[string]json.RawMessage{}
		maps.Copy(entry, base)
		delete(entry, "tool_mode")
		for name, value := range map[string]any{
			"slug": m.ID, "display_name": "Fairlead " + m.ID, "visibility": "list", "prefer_websockets": false, "use_responses_lite": false, "supports_search_tool": false, "web_search_tool_type": "text",
			"upgrade": nil, "context_window": m.Context, "max_context_window": m.Context, "input_modalities": m.inputs("text", "image"),
		} {
			if entry[name], err = json.Marshal(value); err != nil {
				return nil, err
			}
		}
		catalog.Models = append(catalog.Models, entry)
	}
	text, err := json.MarshalIndent(catalog, "", indentation)
	return append(text, '\n'), err
}

// describe says which model answered.
func (a answer) describe() string {
	who := a.model
	if a.provider != "" {
		who += " at " + a.provider
	}
	parts := []string{fmt.Sprintf("%s answered in %.1f s", who, a.took.Seconds())}
	if a.cost != "" {
		parts = append(parts, "for $"+strings.TrimPrefix(a.cost, "$"))
	}
	return strings.Join(parts, " ")
}
