package realtime

import (
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// event is the part of a provider message that the gateway reads.
type event struct {
	kind    string
	usage   *llm.Usage // usage of a response or transcription; nil if the provider reports no tokens
	billed  bool       // whether the event ends a response or transcription that is charged; usage may be nil
	failed  bool       // whether a response failed or was cancelled
	text    int        // bytes of text that a response generated
	audio   int        // base64 characters of audio that a response generated
	model   string     // model that transcribes the input; set only for events that describe the session
	eventID string     // client event that caused an error
	refused bool       // whether the error refuses a response, because the conversation has one in progress
}

// Types of events that the gateway reads.
const (
	responseCreate  = "response.create"
	responseCreated = "response.created"
	responseDone    = "response.done"
	committed       = "input_audio_buffer.committed"
	transcribed     = "conversation.item.input_audio_transcription.completed"
	notTranscribed  = "conversation.item.input_audio_transcription.failed"
)

// readEvent reads the type of a message, and the usage or the transcription model that it reports. It ignores all other fields.
func readEvent(data []byte) event {
	v := rawjson.Parse(data)
	e := event{kind: v.Get("type").String()}
	switch e.kind {
	case responseDone:
		status := v.Get("response.status").String()
		e.billed, e.usage, e.failed = true, readUsage(v.Get("response.usage")), status == "failed" || status == "cancelled"
		e.text = len(v.Get("response.output").Raw)
	case "error":
		e.eventID, e.refused = v.Get("error.event_id").String(), v.Get("error.code").String() == "conversation_already_has_active_response"
	case transcribed:
		usage := v.Get("usage")
		e.billed, e.usage = usage.IsObject(), readUsage(usage)
	case "session.created", "session.updated":
		e.model = v.Get("session.audio.input.transcription.model").String()
		if e.model == "" {
			e.model = v.Get("session.input_audio_transcription.model").String() // field name in the beta version of the API
		}
	default:
		generated := strings.HasPrefix(e.kind, "response.") && strings.HasSuffix(e.kind, ".delta")
		switch delta := v.Get("delta"); {
		case generated && strings.HasSuffix(e.kind, "audio.delta"):
			e.audio = len(delta.Raw)
		case generated:
			e.text = len(delta.Raw)
		}
	}
	return e
}

// readClientEvent returns the type and the id of a client message. If the type is repeated, a request for a response has precedence,
// because the provider may use either type.
func readClientEvent(data []byte) (kind, eventID string) {
	rawjson.Parse(data).ForEach(func(key, value rawjson.Value) bool {
		switch {
		case key.String() == "type" && kind != responseCreate:
			kind = value.String()
		case key.String() == "event_id":
			eventID = value.String()
		}
		return true
	})
	return kind, eventID
}

// traffic counts what both sides sent, to estimate the usage of responses for which the provider reports none.
type traffic struct {
	sentText, sentAudio         int // bytes and base64 characters of the conversation
	receivedText, receivedAudio int // the same for the output since the last end of a response
	uncommitted                 int // base64 characters of audio since the last one that the provider began to transcribe
}

// Audio has 24,000 samples of two bytes per second, which providers count as 10 tokens of input or 20 tokens of output. Base64 has four
// characters for three bytes.
const (
	charactersPerInput  = 24_000 * 2 / 10 * 4 / 3
	charactersPerOutput = charactersPerInput / 2
	bytesPerToken       = 4
)

func (t *traffic) countSent(kind string, size int) {
	if kind == "input_audio_buffer.append" {
		t.sentAudio += size
		t.uncommitted += size
	} else {
		t.sentText += size
	}
}

// endResponse returns the reported usage of a response or, if it is nil, an estimate. A failed or cancelled response without output has no
// usage.
func (t *traffic) endResponse(reported *llm.Usage, failed bool) llm.Usage {
	u := llm.Usage{
		Estimated: true, AudioInput: tokens(t.sentAudio, charactersPerInput), AudioOutput: tokens(t.receivedAudio, charactersPerOutput),
	}
	u.Input, u.Output = u.AudioInput+tokens(t.sentText, bytesPerToken), u.AudioOutput+tokens(t.receivedText, bytesPerToken)
	// The output becomes a part of the conversation.
	t.sentText, t.sentAudio, t.receivedText, t.receivedAudio = t.sentText+t.receivedText, t.sentAudio+t.receivedAudio, 0, 0
	if reported != nil {
		return *reported
	}
	if failed && u.Output == 0 {
		return llm.Usage{}
	}
	return u
}

// commit returns the estimated usage of transcribing the audio since the last call.
func (t *traffic) commit() llm.Usage {
	audio := tokens(t.uncommitted, charactersPerInput)
	t.uncommitted = 0
	return llm.Usage{Input: audio, AudioInput: audio, Estimated: true}
}

func tokens(size, perToken int) int64 { return int64((size + perToken - 1) / perToken) }

// readUsage reads a usage object. It returns nil if the object has no tokens. The count of a subset, such as cached tokens, is limited to
// the count of the whole.
func readUsage(v rawjson.Value) *llm.Usage {
	count := func(path string) int64 { return min(max(v.Get(path).Int(), 0), llm.MaxTokenCount) }
	input, output := count("input_tokens"), count("output_tokens")
	if input == 0 && output == 0 {
		return nil
	}
	// Cached audio is part of both the audio tokens and the cached tokens. It is counted as cached, because all cached tokens have the same
	// price.
	cached := min(count("input_token_details.cached_tokens"), input)
	audio := max(0, count("input_token_details.audio_tokens")-count("input_token_details.cached_tokens_details.audio_tokens"))
	return &llm.Usage{
		Input: input - cached, CacheRead: cached, AudioInput: min(audio, input-cached),
		Output: output, AudioOutput: min(count("output_token_details.audio_tokens"), output),
	}
}

// errorEvent returns the last event that the client receives if the gateway ends the session.
func errorEvent(n notice, eventID string) []byte {
	w := rawjson.Writer{}
	w.Open()
	w.Str("type", "error")
	w.Str("event_id", eventID)
	w.Key("error")
	w.Open()
	w.Str("type", n.kind)
	w.Str("code", n.code)
	w.Str("message", n.message)
	w.Raw("param", []byte("null"))
	w.Raw("event_id", []byte("null"))
	w.Close()
	w.Close()
	return w.Out
}
