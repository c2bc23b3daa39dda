package config

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSchemaDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	const document = "../../docs/config.schema.json"
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(document, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is stale; run make generate\n%s", document, diff)
	}
}
