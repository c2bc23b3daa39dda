package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestDataURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]llm.Media{
		"data:image/png;base64,AAEC":                  {Type: "image/png", Data: "AAEC"},
		"data:text/plain;charset=utf-8;base64,AAEC":   {Type: "text/plain", Data: "AAEC"},
		"DATA:;BASE64,AAEC":                           {Data: "AAEC"},
		"data:text/plain,hi%20there":                  {Type: "text/plain", Data: "aGkgdGhlcmU="},
		"data:image/png;base64,-_8":                   {Type: "image/png", Data: "+/8="},
		"data:image/png;base64,AA\nEC":                {Type: "image/png", Data: "AAEC"},
		"data:image/png;base64," + "AAECAw==":         {Type: "image/png", Data: "AAECAw=="},
		"data:image/png;name=a.png;base64,AAECAwQFBg": {Type: "image/png", Data: "AAECAwQFBg=="},
	} {
		got, ok := llm.SplitDataURL(url)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: ok = %t (-want +got):\n%s", url, ok, diff)
		}
	}
	for _, url := range []string{"data:image/png;base64", "data:image/png;base64,AA=A", "data:image/png;base64,A", "data:x,%zz", "data:x;base64,ab!d"} {
		if got, ok := llm.SplitDataURL(url); ok {
			t.Errorf("llm.SplitDataURL(%s) = %+v, want false", url, got)
		}
	}
}
