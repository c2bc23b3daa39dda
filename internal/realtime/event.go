package realtime

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// event is the part of a provider message that the gateway reads.
type event struct {
	kind   string
	usage  *llm.Usage // usage of a response or transcription; nil if the provider reports no tokens
	billed bool       // whether the event ends a response or transcription that is charged; usage may be nil
	model  string     // model that transcribes the input; set only for events that describe the session
}

// Types of events that the gateway reads.
const (
	responseCreated = "response.created"
	responseDone    = "response.done"
	transcribed     = "conversation.item.input_audio_transcription.completed"
)

// readEvent reads the type of a message, and the usage or the transcription model that it reports. It ignores all other fields.
func readEvent(data []byte) event {
	v := rawjson.Parse(data)
	e := event{kind: v.Get("type").String()}
	switch e.kind {
	case responseDone:
		e.billed, e.usage = true, readUsage(v.Get("response.usage"))
	case transcribed:
		usage := v.Get("usage")
		e.billed, e.usage = usage.IsObject(), readUsage(usage)
	case "session.created", "session.updated":
		e.model = v.Get("session.audio.input.transcription.model").String()
		if e.model == "" {
			e.model = v.Get("session.input_audio_transcription.model").String() // field name in the beta version of the API
		}
	}
	return e
}

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
