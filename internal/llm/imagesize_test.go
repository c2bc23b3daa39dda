package llm

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImageOfReadsSizeFromHeader(t *testing.T) {
	t.Parallel()
	picture := image.NewPaletted(image.Rect(0, 0, 321, 123), color.Palette{color.Black, color.White})
	for name, file := range map[string][]byte{
		"png":           encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture) }),
		"gif":           encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, picture, nil) }),
		"jpeg":          encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture, nil) }),
		"lossy webp":    []byte("RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x41\x01\x7b\x00rest"),
		"lossless webp": append([]byte("RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f"), 0x40, 0x81, 0x1e, 0x00, 0, 0),
		"extended webp": []byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x40\x01\x00\x7a\x00\x00rest"),
	} {
		data := base64.StdEncoding.EncodeToString(file)
		want := Image{Width: 321, Height: 123, Detail: "high"}
		for _, form := range []string{data, "data:image/x;base64," + data} {
			if diff := cmp.Diff(want, ImageOf(form, "high")); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		for n := range file { // the size of an incomplete file is complete or unknown
			got := ImageOf(base64.StdEncoding.EncodeToString(file[:n]), "high")
			if diff := cmp.Diff(want, got); diff != "" && (got.Width != 0 || got.Height != 0) {
				t.Errorf("%s, first %d bytes: %s", name, n, diff)
			}
		}
	}
	for name, data := range map[string]string{
		"nothing":      "",
		"a URL":        "https://example.com/cat.png",
		"not base64":   strings.Repeat("\x00", 80),
		"another file": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("%PDF-1.7 ", 10))),
		"cut":          base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00")),
		"no size":      base64.StdEncoding.EncodeToString([]byte("GIF89a\x00\x00\x00\x00rest of it")),
		"a loop":       base64.StdEncoding.EncodeToString([]byte("\xff\xd8" + strings.Repeat("\xff\xe0\x00\x02", 400))),
	} {
		if got := ImageOf(data, "auto"); got != (Image{}) {
			t.Errorf("%s: ImageOf = %+v, want no size", name, got)
		}
	}
}

func encoded(t *testing.T, write func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzImageOf(f *testing.F) {
	f.Add("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ")
	f.Add("data:image/jpeg;base64,/9j/4AAQSkZJRg")
	f.Fuzz(func(t *testing.T, data string) {
		if i := ImageOf(data, ""); i.Width < 0 || i.Height < 0 || i.Width > maxSide || (i.Width == 0) != (i.Height == 0) {
			t.Errorf("ImageOf = %+v, want both sides or none, at most the maximum", i)
		}
	})
}
