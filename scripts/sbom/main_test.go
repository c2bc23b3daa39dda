package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lockFile = `{"packages": {
	"": {"name": "dashboard", "version": "0.0.0"},
	"node_modules/preact": {"version": "10.1.0", "license": "MIT"},
	"node_modules/@scope/part": {"version": "2.0.0"},
	"node_modules/preact/node_modules/inner": {"version": "3.0.0"},
	"node_modules/@scope/part/node_modules/inner": {"version": "3.0.0"},
	"node_modules/vite": {"version": "8.0.0", "dev": true}
}}`

func TestBillOfMaterialsListsModulesAndPackages(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{GoVersion: "go1.26.2 X:nodwarf5", Deps: []*debug.Module{
		{Path: "example.com/used", Version: "v2.0.0+incompatible"},
		{Path: "example.com/replaced", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.1.0"}},
	}}
	bom, err := bill(info, []byte(lockFile), "1.2.3", sha256.Sum256([]byte("binary")))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := write(&out, bom); err != nil {
		t.Fatal(err)
	}
	type part struct {
		Type, Name, Version, PURL string
		Hashes                    []struct{ Alg, Content string }
		Licenses                  []struct{ Expression string }
	}
	var got struct {
		BOMFormat, SpecVersion string
		Metadata               struct{ Component part }
		Components             []part
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.BOMFormat != "CycloneDX" || got.SpecVersion != "1.6" {
		t.Errorf("the document is %s %s", got.BOMFormat, got.SpecVersion)
	}
	apache, mit := []struct{ Expression string }{{"Apache-2.0"}}, []struct{ Expression string }{{"MIT"}}
	want := []part{
		{
			Type: "application", Name: "fairlead", Version: "1.2.3", PURL: "pkg:generic/fairlead@1.2.3", Licenses: apache,
			Hashes: []struct{ Alg, Content string }{{"SHA-256", "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd"}},
		},
		{Type: "library", Name: "std", Version: "1.26.2", PURL: "pkg:golang/std@1.26.2"},
		{Type: "library", Name: "example.com/used", Version: "v2.0.0+incompatible", PURL: "pkg:golang/example.com/used@v2.0.0%2Bincompatible"},
		{Type: "library", Name: "example.com/fork", Version: "v1.1.0", PURL: "pkg:golang/example.com/fork@v1.1.0"},
		{Type: "library", Name: "@scope/part", Version: "2.0.0", PURL: "pkg:npm/%40scope/part@2.0.0"},
		{Type: "library", Name: "inner", Version: "3.0.0", PURL: "pkg:npm/inner@3.0.0"},
		{Type: "library", Name: "preact", Version: "10.1.0", PURL: "pkg:npm/preact@10.1.0", Licenses: mit},
	}
	if diff := cmp.Diff(want, append([]part{got.Metadata.Component}, got.Components...)); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
}

func TestInvalidLockFileIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := bill(&debug.BuildInfo{}, []byte("{"), "1", [sha256.Size]byte{}); err == nil {
		t.Error("no error")
	}
}
