package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is an instruction of the Dockerfile, with continued lines joined.
type instruction struct {
	word string
	rest string
}

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	var list []instruction
	text := strings.ReplaceAll(read(t, "deploy", "Dockerfile"), "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		list = append(list, instruction{word, strings.TrimSpace(rest)})
	}
	return list
}

// last returns the instructions of the last stage, which is the stage that becomes the image.
func last(list []instruction) []instruction {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].word == "FROM" {
			return list[i:]
		}
	}
	return nil
}

func TestImageHasOnlyTheBinaryAndNoRootUser(t *testing.T) {
	t.Parallel()
	want := []instruction{
		{"FROM", "scratch"},
		{"USER", "65532:65532"},
		{"ENTRYPOINT", `["/fairlead"]`},
		{"CMD", `["serve"]`},
		{"STOPSIGNAL", "SIGTERM"},
	}
	image := last(dockerfile(t))
	for _, one := range want {
		if !slices.Contains(image, one) {
			t.Errorf("the image lacks %s %s", one.word, one.rest)
		}
	}
	for _, one := range image {
		switch one.word {
		case "RUN", "ADD":
			t.Errorf("the last stage has %s %s, want only the binary from another stage", one.word, one.rest)
		case "ENV":
			env := map[string]string{}
			for pair := range strings.FieldsSeq(one.rest) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
			}
			wantSettings(t, env)
		case "HEALTHCHECK":
			if !strings.HasSuffix(one.rest, `CMD ["/fairlead", "health"]`) {
				t.Errorf("HEALTHCHECK %s must run the binary, because the image has no shell", one.rest)
			}
		}
	}
}

func TestImageIsBuiltLikeTheBinary(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	var build string
	for _, one := range dockerfile(t) {
		if one.word == "RUN" && strings.HasPrefix(one.rest, "go build") {
			build = one.rest
		}
		if one.word == "FROM" && one.rest != "scratch" {
			image, _, _ := strings.Cut(one.rest, " ")
			wantPinned(t, image)
		}
	}
	for _, part := range []string{"-trimpath", "-s -w -X main.version=", "-X main.commit=", "./cmd/fairlead"} {
		if !strings.Contains(build, part) || !strings.Contains(makefile, part) {
			t.Errorf("Makefile or Dockerfile does not build with %s; both must", part)
		}
	}
	if !slices.Contains(dockerfile(t), instruction{"ENV", "CGO_ENABLED=0 GOTOOLCHAIN=local"}) {
		t.Error("the Dockerfile lacks ENV CGO_ENABLED=0 GOTOOLCHAIN=local")
	}
}

// The compiler in the image must be able to build the module, because GOTOOLCHAIN=local prevents it from downloading another
// version.
func TestImageCompilerMatchesGoMod(t *testing.T) {
	t.Parallel()
	needed := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	image := regexp.MustCompile(`(?m)^FROM golang:(\d+\.\d+)\.\d+`).FindStringSubmatch(read(t, "deploy", "Dockerfile"))
	if needed == nil || image == nil || needed[1] != image[1] {
		t.Errorf("the Go version of go.mod is %q and of the Dockerfile %q, want the same", needed, image)
	}
}

// Paths that the Dockerfile copies must exist and must not be excluded by .dockerignore.
func TestImageCopiesExistingFiles(t *testing.T) {
	t.Parallel()
	ignore := strings.Fields(read(t, ".dockerignore"))
	for _, one := range dockerfile(t) {
		if one.word != "COPY" || strings.Contains(one.rest, "--from=") {
			continue
		}
		words := strings.Fields(one.rest)
		for _, source := range words[:len(words)-1] {
			if _, err := os.Stat(filepath.Join(root(t), source)); err != nil {
				t.Errorf("COPY %s: %v", source, err)
			}
			top, _, _ := strings.Cut(source, "/")
			if !slices.Contains(ignore, "!"+top) {
				t.Errorf("COPY %s: .dockerignore excludes the file", source)
			}
		}
	}
}
