package geminiapi

import (
	"strconv"
	"unicode/utf8"

	"fairlead.dev/internal/rawjson"
)

// maxSources is the maximum number of sources per candidate.
const maxSources = 1000

// writeSources writes the sources of the text. It converts positions from characters to bytes.
func (c *choice) writeSources(w *rawjson.Writer) {
	sources := c.sources[:min(len(c.sources), maxSources)]
	if len(sources) == 0 {
		return
	}
	text := c.text.String()
	offsets := make([]int, 0, utf8.RuneCountInString(text)+1) // byte offsets of all characters and of the end of the text
	for i := range text {
		offsets = append(offsets, i)
	}
	offsets = append(offsets, len(text))
	w.Key("groundingMetadata")
	w.Open()
	w.OpenList("groundingChunks")
	for _, s := range sources {
		w.Open()
		w.Key("web")
		w.Open()
		w.Str("uri", s.URL)
		w.OptionalStr("title", s.Title)
		w.Close()
		w.Close()
	}
	w.CloseList()
	w.OpenList("groundingSupports")
	for i, s := range sources {
		start := offsets[min(max(s.Start, 0), len(offsets)-1)]
		end := max(start, offsets[min(max(s.End, 0), len(offsets)-1)])
		w.Open()
		w.Key("segment")
		w.Open()
		w.Int("startIndex", int64(start))
		w.Int("endIndex", int64(end))
		w.Str("text", text[start:end])
		w.Close()
		w.OpenList("groundingChunkIndices")
		w.Element(strconv.AppendInt(nil, int64(i), 10))
		w.CloseList()
		w.Close()
	}
	w.CloseList()
	w.Close()
}
