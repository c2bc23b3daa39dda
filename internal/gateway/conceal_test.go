package gateway

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const veiled = "sk-secret-0123456789"

func TestConcealCoversTheSecretHoweverItComes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s sk sk- sk-secret ", 500)
	for _, text := range []string{
		"", "nothing", veiled, veiled + veiled, "a" + veiled + "b", long + veiled + long, "sk-sk-secret-0123456789", veiled[:len(veiled)-1],
		"sk-secret-012345678" + veiled,
	} {
		want := strings.ReplaceAll(text, veiled, strings.Repeat("*", len(veiled)))
		for name, reader := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "with the end": iotest.DataErrReader,
		} {
			for _, size := range []int{1, 7, 100, 5000} {
				body := conceal(io.NopCloser(reader(strings.NewReader(text))), veiled)
				var got bytes.Buffer
				_, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{body}, make([]byte, size))
				if err != nil || got.String() != want {
					t.Fatalf("%s in steps of %d: got %q, %v; want %q", name, size, got.String(), err, want)
				}
			}
		}
	}
}

func TestConcealKeepsErrorsAndShortSecrets(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	body := conceal(io.NopCloser(io.MultiReader(strings.NewReader("text sk-"), iotest.ErrReader(broken))), veiled)
	if got, err := io.ReadAll(body); string(got) != "text sk-" || !errors.Is(err, broken) {
		t.Errorf("got %q, %v", got, err)
	}
	plain := io.NopCloser(strings.NewReader("key"))
	if conceal(plain, "key") != plain {
		t.Error("a short secret is looked for")
	}
}

func FuzzConceal(f *testing.F) {
	f.Add([]byte("a"+veiled+"b"), uint8(3))
	f.Add([]byte("sk-sk-secret-"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		body := conceal(io.NopCloser(iotest.HalfReader(bytes.NewReader(data))), veiled)
		var got bytes.Buffer
		if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, struct{ io.Reader }{body}, make([]byte, int(step)+1)); err != nil {
			t.Fatal(err)
		}
		want := bytes.ReplaceAll(data, []byte(veiled), bytes.Repeat([]byte("*"), len(veiled)))
		if !bytes.Equal(got.Bytes(), want) {
			t.Fatalf("got %q, want %q", got.Bytes(), want)
		}
	})
}
