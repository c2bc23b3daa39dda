package mockprovider

import (
	"net/http"
	"strings"
	"time"
)

// argumentTokens is how many tokens of a tool call's arguments travel in one chunk.
const argumentTokens = 4

type chunk struct {
	ID                string      `json:"id"`
	Object            string      `json:"object"`
	Created           int64       `json:"created"`
	Model             string      `json:"model"`
	ServiceTier       string      `json:"service_tier"`
	SystemFingerprint string      `json:"system_fingerprint"`
	Choices           []chunkPart `json:"choices"`
	Usage             *usage      `json:"usage,omitempty"`
}

type chunkPart struct {
	Index        int       `json:"index"`
	Delta        delta     `json:"delta"`
	Logprobs     *logprobs `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

type delta struct {
	Role             string      `json:"role,omitempty"`
	Content          *string     `json:"content,omitempty"`
	ReasoningContent string      `json:"reasoning_content,omitempty"`
	ToolCalls        []deltaCall `json:"tool_calls,omitempty"`
}

type deltaCall struct {
	Index    int        `json:"index"`
	ID       string     `json:"id,omitempty"`
	Type     string     `json:"type,omitempty"`
	Function *deltaBody `json:"function,omitempty"`
	Custom   *deltaText `json:"custom,omitempty"`
}

type deltaBody struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type deltaText struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

// writeStream sends the answer chunk by chunk at the model's pace.
func (s *Simulator) writeStream(w http.ResponseWriter, r *http.Request, p profile, a answer, fault Fault, wantUsage bool) {
	show := performance{head: len(a.choices), voices: len(a.choices)}
	for _, part := range a.parts() {
		show.events = append(show.events, string(encode(a.chunk(part))))
	}
	if wantUsage && a.usage != nil {
		last := a.chunk()
		last.Usage = a.usage
		show.events = append(show.events, string(encode(last)))
	}
	show.events = append(show.events, "[DONE]")
	s.play(w, r, p, show, fault)
}

// performance is a stream that is ready to be sent.
type performance struct {
	events []string // the data of each
	head   int      // how many come at once, before the first token
	voices int      // how many answers it holds side by side
}

// play sends a stream at the model's pace, and spoils it as the fault says.
func (s *Simulator) play(w http.ResponseWriter, r *http.Request, p profile, show performance, fault Fault) {
	h := w.Header()
	h.Set("Content-Type", contentType(true))
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	half := show.head + (len(show.events)-show.head)/2 // always behind the head
	for i, event := range show.events {
		switch {
		case i == show.head && fault == FaultRoleThenError:
			send(w, errorEvent)
			return
		case i == half && fault == FaultStall:
			stall(r.Context())
			return
		case i == half && fault == FaultCut:
			panic(http.ErrAbortHandler)
		}
		if i >= show.head && event != "[DONE]" && !s.wait(r.Context(), pace(p, 1)/time.Duration(show.voices)) {
			return
		}
		if !send(w, event) {
			return
		}
	}
}

// send writes one event and flushes it. It reports whether the caller still reads.
func send(w http.ResponseWriter, data string) bool {
	if _, err := w.Write([]byte(framed(data, true))); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

func (a answer) chunk(parts ...chunkPart) chunk {
	if parts == nil {
		parts = []chunkPart{}
	}
	return chunk{
		ID: a.id, Object: "chat.completion.chunk", Created: a.created, Model: a.model,
		ServiceTier: "default", SystemFingerprint: fingerprint, Choices: parts,
	}
}

// parts lists what is sent, in order: a role for each choice, then their pieces in turn, each ended by its finish.
func (a answer) parts() []chunkPart {
	empty := ""
	all := []chunkPart{}
	rows := make([][]chunkPart, len(a.choices))
	longest := 0
	for i, c := range a.choices {
		all = append(all, chunkPart{Index: i, Delta: delta{Role: "assistant", Content: &empty}})
		rows[i] = a.pieces(i, c)
		longest = max(longest, len(rows[i]))
	}
	for n := range longest {
		for _, row := range rows {
			if n < len(row) {
				all = append(all, row[n])
			}
		}
	}
	return all
}

func (a answer) pieces(index int, c choice) []chunkPart {
	pieces := []chunkPart{}
	for _, token := range c.reasoning {
		pieces = append(pieces, chunkPart{Index: index, Delta: delta{ReasoningContent: token}})
	}
	for _, token := range c.text {
		piece := chunkPart{Index: index, Delta: delta{Content: &token}}
		if a.logprobs {
			piece.Logprobs = probabilities([]string{token}, a.top)
		}
		pieces = append(pieces, piece)
	}
	for n, call := range c.calls {
		for _, part := range callPieces(n, call) {
			pieces = append(pieces, chunkPart{Index: index, Delta: delta{ToolCalls: []deltaCall{part}}})
		}
	}
	return append(pieces, chunkPart{Index: index, FinishReason: &c.finish})
}

// callPieces splits a tool call: id and name first, then the arguments.
func callPieces(n int, call toolCall) []deltaCall {
	if call.Custom != nil {
		return []deltaCall{
			{Index: n, ID: call.ID, Type: call.Type, Custom: &deltaText{Name: call.Custom.Name}},
			{Index: n, Custom: &deltaText{Input: call.Custom.Input}},
		}
	}
	pieces := []deltaCall{{Index: n, ID: call.ID, Type: call.Type, Function: &deltaBody{Name: call.Function.Name}}}
	tokens := tokenize(call.Function.Arguments)
	for len(tokens) > 0 {
		some := min(argumentTokens, len(tokens))
		pieces = append(pieces, deltaCall{Index: n, Function: &deltaBody{Arguments: strings.Join(tokens[:some], "")}})
		tokens = tokens[some:]
	}
	return pieces
}
