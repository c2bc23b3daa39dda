package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/test/harness"
)

const snapshot = "fairlead_1.2.3_linux_amd64.tar.gz"

// TestVerificationFailsAfterAChange runs the commands of the guide against a signed snapshot, and after one change of each file.
func TestVerificationFailsAfterAChange(t *testing.T) {
	t.Parallel()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/guides/verify.md"))
	if err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for _, m := range regexp.MustCompile("(?s)\n## Check (?:who|the)[^`]*```sh\n(.*?)```").FindAllSubmatch(page, -1) {
		commands.Write(m[1])
	}
	if n := strings.Count(commands.String(), "openssl dgst -sha256 -verify"); n != 2 {
		t.Fatalf("the commands of the guide verify %d signatures, want 2:\n%s", n, commands.String())
	}
	signed := signedSnapshot(t, root)
	// change replaces a byte in the middle of the part of a file that the expression matches.
	change := func(name, part string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			path := filepath.Join(dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at := regexp.MustCompile(part).FindSubmatchIndex(data)
			if at == nil {
				t.Fatalf("%s does not contain %s", name, part)
			}
			if i := (at[2] + at[3]) / 2; data[i] == 'A' {
				data[i] = 'B'
			} else {
				data[i] = 'A'
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, edit := range map[string]func(*testing.T, string){
		"":                         nil,
		"archive":                  change(snapshot, `(?s)^(.*)$`),
		"checksum":                 change("checksums.txt", `(?m)^(\S+)  other`),
		"signature":                change("checksums.txt.sigstore.json", `"signature": "([^"]+)"`),
		"certificate":              change("checksums.txt.sigstore.json", `"rawBytes": "([^"]+)"`),
		"provenance":               change("provenance.sigstore.json", `"payload": "([^"]+)"`),
		"signature of provenance":  change("provenance.sigstore.json", `"sig": "([^"]+)"`),
		"certificate of authority": change("authority.pem", `(?s)CERTIFICATE-----\n(.*?)\n-----END`),
		"other repository": func(t *testing.T, dir string) {
			t.Helper()
			sign(t, root, dir, "somebody/fairlead")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(signed)); err != nil {
				t.Fatal(err)
			}
			if edit != nil {
				edit(t, dir)
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", commands.String())
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); (err == nil) != (edit == nil) {
				t.Errorf("the commands ended with %v:\n%s", err, out)
			}
		})
	}
}

// signedSnapshot returns a folder with an archive of the built program, checksums, signature and provenance.
func signedSnapshot(t *testing.T, root string) (dir string) {
	t.Helper()
	program, err := os.ReadFile(harness.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&archive, gzip.BestSpeed) // the level is valid
	files := tar.NewWriter(zipped)
	err = files.WriteHeader(&tar.Header{Name: "fairlead", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = files.Write(program)
	}
	if err != nil || files.Close() != nil || zipped.Close() != nil {
		t.Fatal("write the archive:", err)
	}
	dir = t.TempDir()
	sums := fmt.Sprintf("%x  %s\n%x  other_file\n", sha256.Sum256(archive.Bytes()), snapshot, sha256.Sum256(nil))
	for name, data := range map[string][]byte{snapshot: archive.Bytes(), "checksums.txt": []byte(sums)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sign(t, root, dir, "OWNER/fairlead")
	return dir
}

func sign(t *testing.T, root, dir, repository string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), filepath.Join(root, "scripts/sign-snapshot.sh"), dir, repository, "1.2.3").CombinedOutput(); err != nil {
		t.Fatalf("sign-snapshot.sh: %v\n%s", err, out)
	}
}
