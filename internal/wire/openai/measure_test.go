package openai

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestImageSizesAreDetected(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		t.Fatal(err)
	}
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(file.Bytes())
	body := `{"model":"m","messages":[{"role":"user","content":[` + strings.Join([]string{
		`{"type":"image_url","image_url":{"url":"` + data + `","detail":"low"}}`,
		`{"type":"image_url","image_url":{"detail":"high","url":"` + strings.ReplaceAll(data, "/", `\/`) + `"}}`,
		`{"type":"image_url","image_url":{"url":"https://example.com/high.png","detail":"high"}}`,
		`{"type":"image_url","image_url":{"url":"https://example.com/cat.png"}}`,
	}, ",") + `]}]}`
	req := decode(t, llm.Chat, body)
	want := []llm.Image{{Width: 640, Height: 480, Detail: "low"}, {Width: 640, Height: 480, Detail: "high"}, {Detail: "high"}}
	if diff := cmp.Diff(want, req.ImageSizes); diff != "" || req.Images != 4 || req.ImageURLs != 2 {
		t.Errorf("%d images, %d by URL, want 4 and 2; sizes (-want +got):\n%s", req.Images, req.ImageURLs, diff)
	}
}

// Only prompt text is measured, not member names or images in unknown members.
func TestMeasureCountsPromptText(t *testing.T) {
	t.Parallel()
	body := `{"model":"m","messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":[{"type":"text","text":"two\nwords"}]},` +
		`{"role":"tool","tool_call_id":"c1","content":[{"type":"new","x":"data:image/png;base64,AAAA"}]}]}`
	req := decode(t, llm.Chat, body)
	var want llm.Text
	for _, s := range []string{`Be "brief".`, "two\nwords", "c1"} {
		want.Add(s)
	}
	if diff := cmp.Diff(want, req.Text); diff != "" {
		t.Error(diff)
	}
}
