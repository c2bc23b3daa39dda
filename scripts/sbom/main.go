// Command sbom writes the software bill of materials of a Fairlead binary, in CycloneDX 1.6 JSON: the Go modules that the compiler
// recorded in the binary, and the npm packages of the embedded dashboard.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	binary := flag.String("binary", "", "the Fairlead binary")
	lock := flag.String("lock", "", "package-lock.json of the dashboard")
	version := flag.String("version", "dev", "version of the release")
	out := flag.String("out", "", "the file to write")
	flag.Parse()
	if err := run(*binary, *lock, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(binary, lock, version, out string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	packages, err := os.ReadFile(lock)
	if err != nil {
		return err
	}
	bom, err := bill(info, packages, version, sha256.Sum256(program))
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := write(file, bom); err != nil {
		return err
	}
	return file.Close()
}

func write(w io.Writer, bom *cyclonedx.BOM) error {
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}

// bill returns the bill of materials. The document has no time and no serial number, so that equal binaries have equal documents.
func bill(info *buildinfo.BuildInfo, lock []byte, version string, sum [sha256.Size]byte) (*cyclonedx.BOM, error) {
	packages, err := npmPackages(lock)
	if err != nil {
		return nil, err
	}
	program := component("fairlead", version, "pkg:generic/fairlead")
	program.Type = cyclonedx.ComponentTypeApplication
	program.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	program.Licenses = license("Apache-2.0")
	components := slices.Concat(goModules(info), packages)
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &program}
	bom.Components = &components
	return bom, nil
}

// goModules returns the standard library and the modules linked into a binary.
func goModules(info *buildinfo.BuildInfo) []cyclonedx.Component {
	toolchain, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	list := []cyclonedx.Component{component("std", toolchain, "pkg:golang/std")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, component(m.Path, m.Version, "pkg:golang/"+m.Path))
	}
	return list
}

// npmPackages returns the packages of a lock file that are part of the dashboard, without the packages that only build it.
func npmPackages(lock []byte) ([]cyclonedx.Component, error) {
	var file struct {
		Packages map[string]struct {
			Version string `json:"version"`
			License string `json:"license"`
			Dev     bool   `json:"dev"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(lock, &file); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	var list []cyclonedx.Component
	for path, p := range file.Packages {
		const root = "node_modules/"
		at := strings.LastIndex(path, root)
		if at < 0 || p.Dev {
			continue
		}
		name := path[at+len(root):]
		c := component(name, p.Version, "pkg:npm/"+strings.Replace(name, "@", "%40", 1))
		c.Licenses = license(p.License)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	return slices.CompactFunc(list, func(a, b cyclonedx.Component) bool { return a.BOMRef == b.BOMRef }), nil
}

// component returns a library with its package URL, which is also its reference within the document.
func component(name, version, purl string) cyclonedx.Component {
	purl += "@" + url.QueryEscape(version)
	return cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: purl, Name: name, Version: version, PackageURL: purl}
}

func license(expression string) *cyclonedx.Licenses {
	if expression == "" {
		return nil
	}
	return &cyclonedx.Licenses{{Expression: expression}}
}
