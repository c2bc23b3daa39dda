// Docimages copies the screenshots for the documentation, test-results/screenshots/docs-*.png, to docs/images with at most 256 colours
// each, which makes them about half as large.
package main

import (
	"cmp"
	"image"
	"image/color"
	"image/png"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	names, err := filepath.Glob("test-results/screenshots/docs-*.png")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range names {
		to := filepath.Join("docs/images", strings.TrimPrefix(filepath.Base(name), "docs-"))
		if err := reduce(name, to); err != nil {
			log.Fatalf("reduce %s: %v", name, err)
		}
		log.Print(to)
	}
}

func reduce(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	shot, err := png.Decode(in)
	if err != nil {
		return err
	}
	counts := map[color.RGBA]int{}
	bounds := shot.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(shot.At(x, y)).(color.RGBA) } //nolint:forcetypeassert // RGBAModel always returns color.RGBA
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	reduced := image.NewPaletted(bounds, colors(counts))
	known := map[color.RGBA]uint8{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			i, ok := known[c]
			if !ok {
				i = uint8(reduced.Palette.Index(c)) //nolint:gosec // the palette has at most 256 colours
				known[c] = i
			}
			reduced.SetColorIndex(x, y, i)
		}
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, reduced); err != nil {
		return err
	}
	return out.Close()
}

// colors returns the most frequent colours, at most 256. Similar colours are merged. The distance below which colours count as similar
// grows until 256 colours are enough.
func colors(counts map[color.RGBA]int) color.Palette {
	sorted := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(rgb(a), rgb(b)))
	})
	for least := 0; ; least += 3 {
		var chosen color.Palette
		for _, c := range sorted {
			if !slices.ContainsFunc(chosen, func(other color.Color) bool { return distance(c, other.(color.RGBA)) <= least }) { //nolint:forcetypeassert // the code below appends only color.RGBA
				chosen = append(chosen, c)
			}
			if len(chosen) > 256 {
				break
			}
		}
		if len(chosen) <= 256 {
			return chosen
		}
	}
}

func rgb(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }

// distance returns the sum of the differences of the colour channels.
func distance(a, b color.RGBA) int {
	diff := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return diff(a.R, b.R) + diff(a.G, b.G) + diff(a.B, b.B)
}
