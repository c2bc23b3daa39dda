// Package llm holds the types that the other packages share: requests, responses, usage and errors. It is independent of
// the wire formats and performs no I/O.
package llm

// Op is the API operation that a request calls.
type Op string

// Operations of the model API.
const (
	Chat     Op = "chat"
	Embed    Op = "embeddings"
	Complete Op = "completions" // a prompt without messages, as older clients send it
	Moderate Op = "moderations"
	Count    Op = "count_tokens" // length of a conversation; calls no model

	Speech         Op = "speech"         // audio from text
	Transcribe     Op = "transcriptions" // text from audio
	GenerateImages Op = "images"         // images from text
	Rerank         Op = "rerank"         // documents ordered by their relevance to a query
	Realtime       Op = "realtime"       // conversation in text and audio over a WebSocket

	FileObjects  Op = "files"   // files in a provider account; calls no model
	BatchObjects Op = "batches" // requests that a provider serves later
)

// Media reports whether the operation is about audio, images or reranking. Bodies of such requests pass through and are not stored.
func (o Op) Media() bool {
	return o == Speech || o == Transcribe || o == GenerateImages || o == Rerank || o == Realtime
}

// Request is a client request that its wire format has validated. Body holds the bytes as received. The other fields
// hold the properties needed for routing, limits and the log.
type Request struct {
	Op       Op
	Model    string // model name as the caller wrote it
	Routed   bool   // whether Model is a route, so that the router chooses the model
	Needs    Abilities
	Controls Controls
	// Conversation is the decoded request, from which Describe derives most other properties; nil for operations without messages. It shares
	// memory with Body and is immutable.
	Conversation *Conversation
	// Untranslatable is the error for providers of other formats if Conversation cannot express all content; otherwise nil.
	Untranslatable *Error
	Payload
	ResponseOptions
	ProviderState
	Prompt
	PromptSize
	Attachments
	EmbeddingOptions
	Labels
	Headers
}

// Payload is the body of a request in a wire format.
type Payload struct {
	Format string // wire format of Body, such as "chat"
	Body   []byte
	Fields []Field // top-level members of Body, in order
}

// ResponseOptions holds the caller's settings for the response and its generation.
type ResponseOptions struct {
	Stream       bool
	IncludeUsage bool     // whether the caller wants a usage event at the end of the stream
	MaxOutput    int64    // maximum number of output tokens; 0 when not given
	MaxSearches  int64    // maximum number of web searches; 0 when not given
	Choices      int      // number of requested responses (n), at least 1
	Hosted       bool     // whether the provider may add text to the prompt: results of tools that it runs, or text that it stores
	Sampling     []string // sampling fields in the body that some models reject: temperature, top_p, ...
	Effort       string   // reasoning effort set by the caller, or CustomEffort for other reasoning settings; empty for none
	ServiceTier  string
}

// ProviderState refers to objects that a provider stores: earlier responses, this response, files.
type ProviderState struct {
	Previous    string          // ID of the response that the request continues, as the client sent it
	Stored      *StoredResponse // response that Previous names; nil until the gateway has resolved it
	Background  bool            // whether the provider generates the response in the background
	Stores      bool            // whether the request asks the provider to store the response
	Account     string          // request field that refers to an object in one provider account; empty for none
	StoredFiles []StoredFile    // files in a provider account that the request names, without duplicates
	Holder      *Account        // account that holds Stored and StoredFiles; nil if unknown or not resolved yet
}

// Account is the provider account that a credential belongs to.
type Account struct {
	Provider   string
	Credential string // credential ID; empty for a local server
}

// Prompt describes the messages of a request.
type Prompt struct {
	Messages      int
	Answers       int    // number of assistant messages
	Preview       string // beginning of the last user message, for lists; at most PreviewBytes
	Asked         string // first text in the last user message
	HasSignatures bool   // whether the messages contain signatures of other providers, which the gateway added to earlier responses
	LostThinking  bool   // whether the gateway removed signed thinking of other targets, which the client received unchanged
	Plain         bool   // whether every provider of the format accepts the messages: no custom tools, wrapped signatures or system turns
}

// PromptSize holds the amount of text in the prompt.
type PromptSize struct {
	ASCIIBytes    int // number of ASCII bytes in the prompt text
	NonASCIIBytes int // number of non-ASCII bytes in the prompt text
	ExtraBytes    int // number of these bytes that are in unknown members, which a provider may ignore
	RestoredBytes int // number of bytes of reasoning that the gateway adds because the client did not send it back
	Predicted     int // number of bytes of predicted output; rejected predictions are billed as output
	Text          Text
}

// Attachments are the parts of the prompt that are not text.
type Attachments struct {
	Images        int
	ImageURLs     int     // number of Images that the provider has to fetch
	ImageSizes    []Image // first MaxImageSizes images of known size
	ImageBytes    int     // number of bytes in Body that are inline images
	AttachedBytes int     // number of bytes in Body that are inline audio, video or documents
	Unsized       int     // number of attachments whose tokens only the provider can count: audio, video, documents, parts of unknown type
}

// EmbeddingOptions describes the inputs and the vectors of an embeddings request. Completions and moderation requests also use Inputs.
type EmbeddingOptions struct {
	Inputs     int     // number of inputs
	Longest    float64 // length of the longest input as a fraction (0 to 1) of the total length
	TokenIDs   int64   // number of token IDs given instead of text
	Dimensions int64   // requested vector size; 0 when not given
	Base64     bool    // whether the caller wants base64 vectors
}

// Labels holds the name of the end user and the caller's metadata.
type Labels struct {
	EndUser  string            // name of the caller's end user (`user`, `safety_identifier`)
	Metadata map[string]string // labels set by the caller
}

// Headers holds the values of request headers that a provider needs.
type Headers struct {
	// Beta is the value of the header that enables optional features of the caller's format. It is sent only to providers of the same
	// format.
	Beta string
	// Subprotocol is the WebSocket subprotocol that the client offers; empty for none.
	Subprotocol string
}

// StoredResponse identifies a response that a provider stores.
type StoredResponse struct {
	Workspace  string // ID of the workspace that created the response
	Provider   string
	Credential string // ID of the credential of the account that holds the response
	ID         string // the provider's ID of the response
	Session    string // session of the request that created the response; empty if unknown
}

// PreviewBytes is the maximum length of Prompt.Preview.
const PreviewBytes = 160

// MaxImageSizes is the maximum length of Attachments.ImageSizes, which is stored with the decision.
const MaxImageSizes = 32

// Image holds the properties of an image that determine its tokens.
type Image struct {
	Width  int    `json:"w,omitempty"` // width in pixels; 0 when unknown
	Height int    `json:"h,omitempty"`
	Detail string `json:"detail,omitempty"` // detail level: low, high or original; empty when not given
}

// AddImage records the size of an image that Images already counts.
func (a *Attachments) AddImage(i Image) {
	if i != (Image{}) && len(a.ImageSizes) < MaxImageSizes {
		a.ImageSizes = append(a.ImageSizes, i)
	}
}

// Counter estimates the tokens of a request and its response from the length of the response text in bytes.
type Counter interface {
	Count(ascii, nonASCII int64) Usage
}

// Field is one top-level member of a JSON body. Name is unescaped, and Body[KeyStart:End] spans key and value.
type Field struct {
	Name                 string
	KeyStart, Value, End int // Body[Value:End] is the value
}

// Controls holds the routing options of a request. They are never sent to a provider.
type Controls struct {
	Models    []string            `json:"models,omitempty"` // fallback models, in order
	Provider  ProviderPreferences `json:"provider,omitzero"`
	SessionID string              `json:"session_id,omitempty"`
}

// ProviderPreferences is the `provider` object that other gateways also accept.
type ProviderPreferences struct {
	Order             []string  `json:"order,omitempty"`
	Only              []string  `json:"only,omitempty"`
	Ignore            []string  `json:"ignore,omitempty"`
	NoFallbacks       bool      `json:"no_fallbacks,omitempty"`       // whether the request has allow_fallbacks: false
	RequireParameters bool      `json:"require_parameters,omitempty"` // whether to exclude targets that would ignore a field
	BestEffort        bool      `json:"best_effort,omitempty"`        // whether to allow targets without support for the request's tools or schema
	Sort              string    `json:"sort,omitempty"`               // sort order: price, latency or throughput
	MaxPrice          *MaxPrice `json:"max_price,omitempty"`
	DenyCollection    bool      `json:"deny_collection,omitempty"` // whether the request has data_collection: deny
	ZeroRetention     bool      `json:"zdr,omitempty"`
}

// MaxPrice limits the price of a target, in dollars per million tokens; nil for no limit.
type MaxPrice struct {
	Prompt     *float64 `json:"prompt,omitempty"`
	Completion *float64 `json:"completion,omitempty"`
}

// Event is one part of a response. A response that is not streamed has one event.
type Event struct {
	Name    string // event name, in formats that have one
	Data    []byte // encoded in the client's wire format; valid until the next event is read
	Own     bool   // whether the event owns Data; if so, Data stays valid
	Type    string // content type of a response that is not JSON; empty for JSON
	Content bool   // whether the event has text, reasoning, a refusal, audio or part of a tool call; other targets can then only continue
	Bare    bool   // whether the event contains only usage; such an event is dropped unless the caller asked for it
	Finish  string // finish reason in the chat format; empty before the end
	Usage   *Usage // usage totals so far, if reported
	Model   string // model name reported by the provider
	Pending string // the provider's ID of a response that it generates in the background

	ASCIIBytes    int // number of ASCII text bytes in this event, for the gateway's own token count
	NonASCIIBytes int
}

// Clone returns the event with bytes that stay valid after the next event is read.
func (ev Event) Clone() Event {
	if !ev.Own {
		ev.Data, ev.Own = append([]byte(nil), ev.Data...), true
	}
	return ev
}

// Usage counts tokens in disjoint classes: Input, CacheRead, CacheWrite and Output. The other token counts are included in these
// classes.
type Usage struct {
	Input      int64 `json:"input"` // prompt tokens neither read from nor written to a cache
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"` // prompt tokens written to a cache; includes CacheWriteLong
	Output     int64 `json:"output"`      // output tokens; includes Reasoning and AudioOutput
	Reasoning  int64 `json:"reasoning"`
	// The following counts may have their own price.
	CacheWriteLong int64 `json:"cache_write_long,omitempty"` // part of CacheWrite that is cached for an hour
	AudioInput     int64 `json:"audio_input,omitempty"`      // audio tokens, included in Input
	AudioOutput    int64 `json:"audio_output,omitempty"`     // audio tokens, included in Output
	Searches       int64 `json:"searches,omitempty"`         // web searches that the provider ran; not tokens
	// Estimated is set if the usage is an estimate, because the provider reported no usage or implausible usage.
	Estimated bool `json:"estimated,omitempty"`
	// ServiceTier is the service tier that the provider reported.
	ServiceTier string `json:"service_tier,omitempty"`
}

// Prompt returns the number of prompt tokens.
func (u Usage) Prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// Total returns the number of prompt and output tokens.
func (u Usage) Total() int64 { return u.Prompt() + u.Output }
