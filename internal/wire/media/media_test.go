package media_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/media"
)

const form = "--b1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\nRIFF\x00\xff\r\n" +
	"--b1\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n" +
	"--b1\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\nnames: Oslo\r\n--b1--\r\n"

func TestRequestsAreForwarded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		op         llm.Op
		body, want string
	}{
		"speech":        {llm.Speech, `{"model":"tts","input":"Hello","voice":"alloy","future":{"a":1},"session_id":"s"}`, `{"model":"up","input":"Hello","voice":"alloy","future":{"a":1}}`},
		"images":        {llm.GenerateImages, `{"prompt":"a boat","model":"img","n":2,"provider":{"order":["a"]}}`, `{"prompt":"a boat","model":"up","n":2}`},
		"rerank":        {llm.Rerank, `{"model":"rr","query":"q","documents":["a",{"text":"b"}],"top_n":1}`, `{"model":"up","query":"q","documents":["a",{"text":"b"}],"top_n":1}`},
		"transcription": {llm.Transcribe, form, strings.Replace(form, "whisper", "up", 1)},
		"transcription of a session": {
			llm.Transcribe, strings.Replace(form, "--b1--", "--b1\r\nContent-Disposition: form-data; name=\"session_id\"\r\n\r\ns\r\n--b1--", 1), strings.Replace(form, "whisper", "up", 1),
		},
	} {
		req, err := media.Format{}.DecodeRequest(t.Context(), tc.op, []byte(tc.body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, kind, err := media.Render(req, "up")
		if boundary, ok := strings.CutPrefix(kind, "multipart/form-data; boundary="); ok {
			got = bytes.ReplaceAll(got, []byte(boundary), []byte("b1"))
		}
		if diff := cmp.Diff(tc.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v, body (-want +got):\n%s", name, err, diff)
		}
		if tc.op == llm.Transcribe && (!strings.HasPrefix(kind, "multipart/form-data; boundary=") || req.AttachedBytes != 6 || req.Unsized != 1 || req.Model != "whisper") {
			t.Errorf("%s: content type %q, request %+v; want a form with one file of 6 bytes", name, kind, req)
		}
		if named := strings.Contains(tc.body, "session_id"); named != (req.Controls.SessionID == "s") {
			t.Errorf("%s: session %q, want one = %t", name, req.Controls.SessionID, named)
		}
		if req.ASCIIBytes == 0 {
			t.Errorf("%s: ASCIIBytes = 0, want the text counted", name)
		}
	}
}

func TestSessionOfAFormIsChecked(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", " ", "a\x1bb", "a\xff", strings.Repeat("a", 257)} {
		body := strings.Replace(form, "--b1--", "--b1\r\nContent-Disposition: form-data; name=\"session_id\"\r\n\r\n"+id+"\r\n--b1--", 1)
		if _, err := (media.Format{}).DecodeRequest(t.Context(), llm.Transcribe, []byte(body)); err == nil || llm.AsError(err).Param != "session_id" {
			t.Errorf("session %q: %v, want an error for session_id", id, err)
		}
	}
}

// If ambiguous forms were accepted, a provider with a more tolerant parser could read a different model name than the gateway.
func TestAmbiguousFormsAreRejected(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"two names":   `Content-Disposition: form-data; name="x"; name="model"`,
		"two headers": "Content-Disposition: form-data; name=\"x\"\r\nContent-Disposition: form-data; name=\"model\"",
		"malformed":   `Content-Disposition: form-data; name="model"; =`,
		"no name":     `Content-Disposition: form-data`,
		"quoted":      `Content-Disposition: form-data; name="x\"; name=\"model"`,
		"attachment":  `Content-Disposition: attachment; name="model"`,
		"other case":  `Content-Disposition: form-data; name="Model"`,
		"a list":      `Content-Disposition: form-data; name="model[]"`,
		"a file":      `Content-Disposition: form-data; name="model"; filename="x"`,
		"two files":   `Content-Disposition: form-data; name="file"; filename="b.wav"`,
		"encoded":     "Content-Disposition: form-data; name=\"x\"\r\nContent-Transfer-Encoding: base64",
	} {
		body := strings.Replace(form, "--b1--", "--b1\r\n"+header+"\r\n\r\nother\r\n--b1--", 1)
		if _, err := (media.Format{}).DecodeRequest(t.Context(), llm.Transcribe, []byte(body)); err == nil || llm.AsError(err).Kind != llm.InvalidRequest {
			t.Errorf("%s: %v, want InvalidRequest", name, err)
		}
	}
}

// A line feed followed by the client's boundary does not end a value; CRLF would be required. The provider also reads it as part of the
// value, because the gateway sends another boundary.
func TestFormsHaveAnotherBoundary(t *testing.T) {
	t.Parallel()
	body := strings.Replace(form, "Oslo", "Oslo\n--b1\nContent-Disposition: form-data; name=\"model\"\n\nother", 1)
	req, err := media.Format{}.DecodeRequest(t.Context(), llm.Transcribe, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	got, kind, err := media.Render(req, "up")
	if err != nil || strings.HasSuffix(kind, "=b1") || strings.Count(string(got), "--b1") != 1 {
		t.Errorf("content type %[2]s (%[1]v), want another boundary, body:\n%[3]s", err, kind, got)
	}
}

func TestMalformedRequestsAreRejected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		op          llm.Op
		body, param string
	}{
		{llm.Speech, `{"model":"tts"}`, "input"},
		{llm.Speech, `{"model":"auto","input":"x"}`, "model"},
		{llm.Speech, `{"model":"auto:cost","input":"x"}`, "model"},
		{llm.Speech, `{"model":"tts","input":"x","stream":true}`, "stream"},
		{llm.GenerateImages, `{"model":"img","prompt":1}`, "prompt"},
		{llm.GenerateImages, `{"model":"img","prompt":"x","n":11}`, "n"},
		{llm.Rerank, `{"model":"rr","query":"q","documents":"x"}`, "documents"},
		{llm.Rerank, `{"query":"q","documents":[]}`, "model"},
		{llm.Transcribe, `{"model":"whisper"}`, ""},
		{llm.Transcribe, "--b1\r\n", ""},
		{llm.Transcribe, strings.Replace(form, "--b1--", "--b2", 1), ""},
		{llm.Transcribe, strings.Replace(form, `name="model"`, `name="other"`, 1), "model"},
		{llm.Transcribe, strings.Replace(form, `name="prompt"`, `name="model"`, 1), "model"},
		{llm.Transcribe, strings.Replace(form, "whisper", "", 1), "model"},
		{llm.Transcribe, "--b1\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n--b1--\r\n", "file"},
		{llm.Chat, `{"model":"m"}`, ""},
	} {
		_, err := media.Format{}.DecodeRequest(t.Context(), tc.op, []byte(tc.body))
		if e := llm.AsError(err); err == nil || e.Kind != llm.InvalidRequest || e.Param != tc.param {
			t.Errorf("%s %q: %v, want InvalidRequest for %q", tc.op, tc.body, err, tc.param)
		}
	}
}

func FuzzForm(f *testing.F) {
	f.Add(form)
	f.Add("--b1\r\n\r\n")
	f.Fuzz(func(t *testing.T, body string) {
		req, err := media.Format{}.DecodeRequest(t.Context(), llm.Transcribe, []byte(body))
		if err != nil {
			if llm.AsError(err).Kind != llm.InvalidRequest {
				t.Fatal(err)
			}
			return
		}
		sent, _, err := media.Render(req, "up")
		if err == nil && !strings.Contains(string(sent), "up") {
			t.Fatalf("%q is sent as %q, want the model up", body, sent)
		}
	})
}

func TestResponses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind, body, want, typ string
		usage                 *llm.Usage
		fails                 llm.Kind
	}{
		"audio":      {"audio/mpeg", "ID3\x00", "ID3\x00", "audio/mpeg", nil, ""},
		"subtitles":  {"text/vtt; charset=utf-8", "WEBVTT", "WEBVTT", "text/vtt; charset=utf-8", nil, ""},
		"web page":   {"text/html", "<html>", "<html>", "application/octet-stream", nil, ""},
		"images":     {"application/json", `{"data":[{"b64_json":"AAAA"}],"usage":{"input_tokens":5,"output_tokens":100,"total_tokens":105}}`, `{"data":[{"b64_json":"AAAA"}],"usage":{"input_tokens":5,"output_tokens":100,"total_tokens":105}}`, "", &llm.Usage{Input: 5, Output: 100}, ""},
		"rerank":     {"application/json", `{"model":"up","results":[],"usage":{"total_tokens":7}}`, `{"model":"ours","results":[],"usage":{"total_tokens":7}}`, "", &llm.Usage{Input: 7}, ""},
		"text":       {"application/json", `{"text":"hi","usage":{"type":"duration","seconds":3}}`, `{"text":"hi","usage":{"type":"duration","seconds":3}}`, "", nil, ""},
		"empty":      {"audio/mpeg", "", "", "", nil, llm.UpstreamMalformed},
		"not JSON":   {"application/json", "<html>", "", "", nil, llm.UpstreamMalformed},
		"too large":  {"audio/mpeg", strings.Repeat("x", 101), "", "", nil, llm.UpstreamMalformed},
		"JSON error": {"application/json", `{"error":{"message":"The server is overloaded","type":"overloaded_error"}}`, "", "", nil, llm.UpstreamOverloaded},
	} {
		limit := int64(200)
		if name == "too large" {
			limit = 100
		}
		ev, err := media.Read(strings.NewReader(tc.body), media.ReadOptions{Model: "ours", ContentType: tc.kind, MaxResponse: limit})
		if tc.fails != "" {
			if err == nil || llm.AsError(err).Kind != tc.fails {
				t.Errorf("%s: %v, want %s", name, err, tc.fails)
			}
			continue
		}
		if diff := cmp.Diff(tc.usage, ev.Usage); diff != "" || err != nil || string(ev.Data) != tc.want || ev.Type != tc.typ || !ev.Content {
			t.Errorf("%s: data %q of type %q, %v; want %q of type %q, usage (-want +got):\n%s",
				name, ev.Data, ev.Type, err, tc.want, tc.typ, diff)
		}
	}
}
