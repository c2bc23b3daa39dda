package admin

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
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

func TestDocumentIsServedUnchanged(t *testing.T) {
	t.Parallel()
	want, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	got := newSite(t).raw("GET", "/api/openapi.json", "").want(200)
	if !bytes.Equal(got.Body.Bytes(), want) || got.Header().Get("Content-Type") != "application/openapi+json" {
		t.Errorf("the served document differs from OpenAPI, or content type %q", got.Header().Get("Content-Type"))
	}
}

func TestDocumentHasNoNullableListsAndNoSchemaLinks(t *testing.T) {
	t.Parallel()
	raw, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"$schema", "x-may-be-null", "ErrorModel", "problem+json"} {
		if bytes.Contains(raw, []byte(unwanted)) {
			t.Errorf("the document has %s", unwanted)
		}
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	walk(doc, func(schema map[string]any) {
		types, _ := schema["type"].([]any)
		if len(types) == 2 && types[0] == "array" {
			t.Errorf("nullable list: %v", schema)
		}
	})
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, member := range v {
			walk(member, visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

func TestEveryOperationIsDocumented(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.api.Spec()
	for path, item := range s.api.Spec().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op == nil {
				continue
			}
			if op.Summary == "" || len(op.Tags) == 0 || op.Responses["default"] == nil || op.Extensions["x-permission"] == "" {
				t.Errorf("%s lacks a summary, a tag, its errors or its permission", op.OperationID)
			}
			documented := map[string]bool{}
			for _, p := range op.Parameters {
				documented[p.Name] = p.In == "path"
			}
			for _, name := range pathParam.FindAllString(path, -1) {
				if !documented[strings.Trim(name, "{}")] {
					t.Errorf("%s does not document the path parameter %s", op.OperationID, name)
				}
			}
		}
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
