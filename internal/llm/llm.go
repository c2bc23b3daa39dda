// Package llm is the vocabulary the other packages share: what a request asks for, what a provider
// answers with, what was used, and what went wrong. It knows no wire format and performs no I/O.
package llm

// Op is what a request asks a model to do.
type Op string

// The operations of the model API.
const (
	Chat     Op = "chat"
	Embed    Op = "embeddings"
	Complete Op = "completions" // a bare prompt, as older clients send it
	Moderate Op = "moderations"
	Count    Op = "count_tokens" // how long a conversation is; no model is called
)

// Request is one client request after its wire format has checked it. Body keeps the bytes as received;
// the other fields are what routing, limits and the log need to know about them.
type Request struct {
	Op     Op
	Format string // wire format of Body, such as "chat"
	Body   []byte
	Fields []Field // the top-level members of Body, in order

	Model        string // as the caller wrote it
	Stream       bool
	IncludeUsage bool  // the caller wants a usage event at the end of the stream
	MaxOutput    int64 // output tokens the caller allows; 0 when not given
	Choices      int   // answers asked for (n), at least 1
	Needs        Abilities
	Hosted       bool     // the provider may run tools, whose results become part of the prompt
	Sampling     []string // sampling fields present that some models refuse: temperature, top_p, ...

	Messages      int
	ASCIIBytes    int // bytes of prompt text in ASCII
	NonASCIIBytes int // bytes of prompt text outside ASCII
	Text          Text
	Images        int
	ImageURLs     int      // of Images: those that the provider must fetch itself
	ImageSizes    []Image  // of the first MaxImageSizes of those whose size is known
	ImageBytes    int      // bytes of Body that are inline images
	AttachedBytes int      // bytes of Body that are inline audio, video or documents
	Unsized       int      // attachments whose tokens only the provider can count: audio, video, documents, parts of an unknown type
	ExtraBytes    int      // of ASCIIBytes and NonASCIIBytes: text in members that this gateway does not know and a provider may ignore
	Predicted     int      // bytes of predicted output: a prediction that the model rejects is billed as output
	Preview       string   // how the last user message begins, for lists; at most PreviewBytes
	Asked         LazyText // what the last user message says first
	Instructed    LazyText // the instructions: the first text of a system message
	Answers       int      // messages of the assistant
	HasSignatures bool     // messages carry seals of other providers, which our own answers have put there

	Inputs      int     // embeddings: number of inputs
	Longest     float64 // share of the longest input in the total of all inputs
	TokenIDs    int64   // embeddings: token ids given instead of text
	Dimensions  int64   // embeddings: vector size asked for; 0 when not given
	Base64      bool    // embeddings: the caller wants base64 vectors
	Controls    Controls
	EndUser     string            // the caller's own end-user name (`user`, `safety_identifier`)
	Metadata    map[string]string // the caller's labels
	ServiceTier string
	// Beta names features of the caller's format that it asks for by a header. They mean something to a provider of the same
	// format only.
	Beta string

	Sample Sample // of the prompt, where Text is still to be measured
}

// PreviewBytes bounds Request.Preview.
const PreviewBytes = 160

// MaxImageSizes bounds Request.ImageSizes: they are stored with the decision.
const MaxImageSizes = 32

// Image is what a picture's tokens depend on.
type Image struct {
	Width  int    `json:"w,omitempty"` // 0 when unknown
	Height int    `json:"h,omitempty"`
	Detail string `json:"detail,omitempty"` // low, high, original; empty when the caller leaves it open
}

// AddImage notes the size of a picture that Images has counted.
func (r *Request) AddImage(i Image) {
	if i != (Image{}) && len(r.ImageSizes) < MaxImageSizes {
		r.ImageSizes = append(r.ImageSizes, i)
	}
}

// Counter estimates the tokens of a request and its response from the bytes of their text.
type Counter interface {
	Count(ascii, nonASCII int64) Usage
}

// Field is one top-level member of a JSON body: Name is unescaped, and Body[KeyStart:End] spans key and value.
type Field struct {
	Name                 string
	KeyStart, Value, End int // Body[Value:End] is the value
}

// Controls are the routing wishes a request carries. They are ours and never reach a provider.
type Controls struct {
	Models    []string            `json:"models,omitempty"` // ordered fallbacks
	Provider  ProviderPreferences `json:"provider,omitzero"`
	SessionID string              `json:"session_id,omitempty"`
}

// ProviderPreferences is the `provider` object that clients of other gateways already send.
type ProviderPreferences struct {
	Order             []string  `json:"order,omitempty"`
	Only              []string  `json:"only,omitempty"`
	Ignore            []string  `json:"ignore,omitempty"`
	NoFallbacks       bool      `json:"no_fallbacks,omitempty"`       // allow_fallbacks: false
	RequireParameters bool      `json:"require_parameters,omitempty"` // refuse targets that would ignore a field
	BestEffort        bool      `json:"best_effort,omitempty"`        // rather an answer without tools or the schema than none
	Sort              string    `json:"sort,omitempty"`               // price, latency, throughput
	MaxPrice          *MaxPrice `json:"max_price,omitempty"`
	DenyCollection    bool      `json:"deny_collection,omitempty"` // data_collection: deny
	ZeroRetention     bool      `json:"zdr,omitempty"`
}

// MaxPrice bounds what a target may ask, in dollars per million tokens; nil leaves that side open.
type MaxPrice struct {
	Prompt     *float64 `json:"prompt,omitempty"`
	Completion *float64 `json:"completion,omitempty"`
}

// Event is one piece of an answer. A whole answer is a stream of one event.
type Event struct {
	Name    string // of the event, in formats that name them
	Data    []byte // in the client's wire format, ready to be framed; valid until the next event is asked for
	Own     bool   // Data is not reused and stays valid
	Content bool   // carries text, reasoning, refusal, audio or a piece of a tool call: the first one is the point of no return
	Bare    bool   // carries nothing but usage: dropped when the caller did not ask for it
	Finish  string // finish reason in the chat format; empty before the end
	Usage   *Usage // totals so far, if reported
	Model   string // the model name the provider reported

	ASCIIBytes    int // answer text in this event, for our own count
	NonASCIIBytes int
}

// Clone returns the event with bytes that stay valid after the next event is read.
func (ev Event) Clone() Event {
	if !ev.Own {
		ev.Data, ev.Own = append([]byte(nil), ev.Data...), true
	}
	return ev
}

// Usage counts tokens in classes that exclude each other: Input, CacheRead, CacheWrite, Output. The other counts are parts
// of these, shown apart.
type Usage struct {
	Input      int64 `json:"input"` // fresh: neither read from nor written to a cache
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"` // includes CacheWriteLong
	Output     int64 `json:"output"`      // includes Reasoning and AudioOutput
	Reasoning  int64 `json:"reasoning"`
	// Parts that may have a price of their own.
	CacheWriteLong int64 `json:"cache_write_long,omitempty"` // of CacheWrite: kept for an hour
	AudioInput     int64 `json:"audio_input,omitempty"`      // of Input
	AudioOutput    int64 `json:"audio_output,omitempty"`     // of Output
	// Estimated marks an estimate, used when the provider reports no usage or an implausible one.
	Estimated bool `json:"estimated,omitempty"`
	// ServiceTier is the tier that the provider says it served.
	ServiceTier string `json:"service_tier,omitempty"`
}

// Prompt is everything the model read.
func (u Usage) Prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// Total is everything read and written.
func (u Usage) Total() int64 { return u.Prompt() + u.Output }
