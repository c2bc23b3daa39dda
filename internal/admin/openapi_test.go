package admin

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

const documentPath = "../../docs/openapi.json"

func TestOpenAPIDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, documentPath, got)
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s is stale; run go test ./internal/admin -update", path)
	}
}

func TestAmountsAreStringsInBothDirections(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for body, ok := range map[string]bool{
		`"50"`: true, `"0.000000001"`: true, `50`: false, `"1e3"`: false, `"1.0000000001"`: false, `""`: false, `"$5"`: false, `null`: false,
	} {
		got := s.call("POST", "/keys", `{"name":"x","budget":{"amount_usd":`+body+`,"period":"day"}}`, as("acc_owner"))
		if (got.Code == 201) != ok {
			t.Errorf("amount %s: status %d, want success %t: %s", body, got.Code, ok, got.Body)
		}
	}
}
