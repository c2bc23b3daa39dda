package realtime

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func TestUsageIsReadFromEvents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		data   string
		want   *llm.Usage
		billed bool
	}{
		"text":                 {`{"type":"response.done","response":{"usage":{"input_tokens":10,"output_tokens":5}}}`, &llm.Usage{Input: 10, Output: 5}, true},
		"audio":                {`{"type":"response.done","response":{"usage":{"input_tokens":10,"output_tokens":5,"input_token_details":{"audio_tokens":7},"output_token_details":{"audio_tokens":4}}}}`, &llm.Usage{Input: 10, AudioInput: 7, Output: 5, AudioOutput: 4}, true},
		"cached audio":         {`{"type":"response.done","response":{"usage":{"input_tokens":10,"input_token_details":{"audio_tokens":7,"cached_tokens":6,"cached_tokens_details":{"audio_tokens":5}}}}}`, &llm.Usage{Input: 4, CacheRead: 6, AudioInput: 2}, true},
		"parts exceed the sum": {`{"type":"response.done","response":{"usage":{"input_tokens":10,"output_tokens":1,"input_token_details":{"audio_tokens":70,"cached_tokens":99},"output_token_details":{"audio_tokens":9}}}}`, &llm.Usage{CacheRead: 10, Output: 1, AudioOutput: 1}, true},
		"negative":             {`{"type":"response.done","response":{"usage":{"input_tokens":-10,"output_tokens":1}}}`, &llm.Usage{Output: 1}, true},
		"failed response":      {`{"type":"response.done","response":{"status":"failed","usage":null}}`, nil, true},
		"transcription":        {`{"usage":{"input_tokens":10,"output_tokens":5,"input_token_details":{"audio_tokens":10}},"type":"conversation.item.input_audio_transcription.completed"}`, &llm.Usage{Input: 10, AudioInput: 10, Output: 5}, true},
		"seconds of audio":     {`{"type":"conversation.item.input_audio_transcription.completed","usage":{"type":"duration","seconds":3}}`, nil, true},
		"transcript only":      {`{"type":"conversation.item.input_audio_transcription.completed","transcript":"a"}`, nil, false},
		"another event":        {`{"type":"response.output_audio.delta","delta":"AAAA","usage":{"input_tokens":3}}`, nil, false},
		"text of the model":    {`{"type":"response.output_text.delta","delta":"{\"type\":\"response.done\"}"}`, nil, false},
		"not JSON":             {`response.done`, nil, false},
		"incomplete":           {`{"type":"response.done","response":{"usage":`, nil, false},
		"type is not a string": {`{"type":["response.done"]}`, nil, false},
	} {
		e := readEvent([]byte(tc.data))
		if diff := cmp.Diff(tc.want, e.usage); diff != "" || e.billed != tc.billed {
			t.Errorf("%s: billed = %t, want %t, usage (-want +got):\n%s", name, e.billed, tc.billed, diff)
		}
	}
}

func TestUsageIsEstimatedFromTraffic(t *testing.T) {
	t.Parallel()
	sent := traffic{sentText: 41, sentAudio: charactersPerInput, receivedText: 5, receivedAudio: charactersPerOutput + 1}
	for name, tc := range map[string]struct {
		traffic  traffic
		reported *llm.Usage
		failed   bool
		want     llm.Usage
	}{
		"text and audio":        {sent, nil, false, llm.Usage{Input: 11 + 1, AudioInput: 1, Output: 2 + 2, AudioOutput: 2, Estimated: true}},
		"reported":              {sent, &llm.Usage{Input: 3, Output: 1}, false, llm.Usage{Input: 3, Output: 1}},
		"failed after a part":   {traffic{receivedText: 4}, nil, true, llm.Usage{Output: 1, Estimated: true}},
		"failed without output": {traffic{sentText: 40}, nil, true, llm.Usage{}},
		"without output":        {traffic{sentText: 40}, nil, false, llm.Usage{Input: 10, Estimated: true}},
	} {
		if diff := cmp.Diff(tc.want, tc.traffic.endResponse(tc.reported, tc.failed)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if sent.endResponse(nil, false); sent != (traffic{sentText: 46, sentAudio: charactersPerInput + charactersPerOutput + 1}) {
		t.Errorf("the output is not part of the conversation: %+v", sent)
	}
}

func TestTranscriptionModelIsRead(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		`{"type":"session.updated","session":{"audio":{"input":{"transcription":{"model":"whisper-1"}}}}}`,
		`{"type":"session.created","session":{"input_audio_transcription":{"model":"whisper-1"}}}`,
	} {
		if e := readEvent([]byte(data)); e.model != "whisper-1" || e.billed {
			t.Errorf("%s: event %+v, want model whisper-1, not billed", data, e)
		}
	}
}

func TestErrorEventIsJSON(t *testing.T) {
	t.Parallel()
	data := errorEvent(notice{"server_error", "OVERLOADED", `a "quote"`}, "event_1")
	if v := rawjson.Parse(data); !rawjson.Valid(data) || v.Get("type").String() != "error" || v.Get("error.message").String() != `a "quote"` {
		t.Errorf("event %s, want a JSON error with the message", data)
	}
}

func FuzzReadEvent(f *testing.F) {
	f.Add(`{"type":"response.done","response":{"usage":{"input_tokens":10,"output_tokens":5}}}`)
	f.Add(`{"type":"session.updated"`)
	f.Fuzz(func(t *testing.T, data string) {
		if u := readEvent([]byte(data)).usage; u != nil && (min(u.Input, u.CacheRead, u.Output, u.AudioInput, u.AudioOutput) < 0 || u.AudioInput > u.Input || u.AudioOutput > u.Output) {
			t.Fatalf("%q has impossible usage %+v", data, *u)
		}
	})
}
