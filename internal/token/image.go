package token

import (
	"math"
	"strings"

	"fairlead/internal/llm"
)

// unknownSide is the assumed side of an image of unknown size: an image that the provider fetches, or one in an
// unsupported format.
const unknownSide = 1024

// Image estimates the tokens of an image by the rules that vendors publish.
func (m Model) Image(i llm.Image) int64 {
	if i.Width <= 0 || i.Height <= 0 {
		i.Width, i.Height = unknownSide, unknownSide
	}
	w, h := float64(i.Width), float64(i.Height)
	switch f, _ := m.family(); f {
	case O200K, CL100K:
		return openAIImage(m.Name, w, h, i.Detail)
	case Claude:
		if newClaude(m.Name) {
			return claudeImage(w, h, 2576, 4784)
		}
		return claudeImage(w, h, 1568, 1568)
	case Gemini:
		return geminiImage(m.Name, w, h)
	default:
		return patches(w, h, 28, 2500) // Qwen, Llama 4 and Mistral are similar
	}
}

// boundSides are the sizes that an image of unknown size is taken for in a bound: the shape that has the most tiles at
// OpenAI, and the largest image that providers accept.
var boundSides = [][2]int{{768, 2048}, {16384, 16384}}

// imageBound returns the most tokens that an image can have. The detail that the caller asked for is not trusted to make
// it smaller.
func (m Model) imageBound(i llm.Image) int64 {
	sides := boundSides
	if i.Width > 0 && i.Height > 0 {
		sides = [][2]int{{i.Width, i.Height}}
	}
	var most int64
	for _, side := range sides {
		for _, detail := range []string{i.Detail, ""} {
			most = max(most, m.Image(llm.Image{Width: side[0], Height: side[1], Detail: detail}))
		}
	}
	return most
}

// tiled models read a small version of the image, and tiles of it if the caller asks for detail.
type tiled struct {
	prefix     string
	base, tile int64
}

// patched models read the image in squares of 32 pixels, each billed with a factor.
type patched struct {
	prefix string
	factor float64
	most   float64
}

// The first matching prefix applies.
var (
	openAIPatches = []patched{
		{"gpt-4.1-mini", 1.62, 1536},
		{"gpt-4.1-nano", 2.46, 1536},
		{"o4-mini", 1.72, 1536},
		{"gpt-5-mini", 1.2, 1536},
		{"gpt-5-nano", 1.5, 1536},
		{"gpt-5.2", 1.2, 1536},
		{"gpt-5.3", 1.2, 1536},
	}
	openAITiles = []tiled{
		{"gpt-4o-mini", 2833, 5667},
		{"gpt-4", 85, 170},
		{"o1", 75, 150},
		{"o3", 75, 150},
		{"gpt-5.1", 70, 140},
		{"gpt-5-", 70, 140},
	}
	openAILatest = patched{"", 1.2, 2500}
)

func openAIImage(name string, w, h float64, detail string) int64 {
	for _, p := range openAIPatches {
		if strings.HasPrefix(name, p.prefix) {
			return p.tokens(w, h)
		}
	}
	for _, t := range openAITiles {
		if strings.HasPrefix(name+"-", t.prefix) {
			return t.tokens(w, h, detail)
		}
	}
	if detail == "original" {
		return patched{"", openAILatest.factor, 10_000}.tokens(w, h)
	}
	return openAILatest.tokens(w, h)
}

// tokens fits the image into 2048 pixels, scales its short side to 768, and counts tiles of 512.
func (t tiled) tokens(w, h float64, detail string) int64 {
	if detail == "low" {
		return t.base
	}
	w, h = fitEdge(w, h, 2048)
	if short := min(w, h); short > 768 {
		w, h = w*768/short, h*768/short
	}
	return t.base + t.tile*int64(math.Ceil(w/512)*math.Ceil(h/512))
}

func (p patched) tokens(w, h float64) int64 {
	return int64(math.Ceil(float64(patches(w, h, 32, p.most)) * p.factor))
}

// patches returns the number of squares that cover the image after shrinking it to at most most squares.
func patches(w, h, side, most float64) int64 {
	return int64(min(most, math.Ceil(w/side)*math.Ceil(h/side)))
}

// claudeImage returns the area divided by 750, after shrinking the image to the model's maximum size.
func claudeImage(w, h, edge, most float64) int64 {
	w, h = fitEdge(w, h, edge)
	return int64(min(most, math.Ceil(w*h/750)))
}

// geminiImage returns 258 for a small image and for each 768-pixel tile of a large one. Models since Gemini 3 use the
// same number of tokens for every image.
func geminiImage(name string, w, h float64) int64 {
	const perTile, sinceGemini3 = 258, 1120
	switch {
	case strings.HasPrefix(name, "gemma"), max(w, h) <= 384 && strings.HasPrefix(name, "gemini-2"):
		return perTile
	case strings.HasPrefix(name, "gemini-2"), strings.HasPrefix(name, "gemini-1"):
		return perTile * int64(math.Ceil(w/768)*math.Ceil(h/768))
	}
	return sinceGemini3
}

// fitEdge shrinks an image so that its long side is at most edge.
func fitEdge(w, h, edge float64) (float64, float64) {
	if long := max(w, h); long > edge {
		return w * edge / long, h * edge / long
	}
	return w, h
}
