package token

import (
	"math"

	"fairlead.dev/internal/llm"
)

// unknownSide is the assumed width and height, in pixels, of an image that the provider fetches or that has an unsupported
// format.
const unknownSide = 1024

// Image estimates the tokens of an image using the rules that vendors publish.
func (m Model) Image(i llm.Image) int64 {
	v := m.Vocabulary()
	return v.image(i)
}

// image estimates the tokens of an image by the vendor's rule: it scales the image down to the maximum sides and counts the tiles.
func (v *Vocabulary) image(i llm.Image) int64 {
	r := &v.rule.Image
	if r.PerTile == 0 || i.Detail == "low" && r.Base > 0 {
		return r.Base
	}
	if i.Width <= 0 || i.Height <= 0 {
		i.Width, i.Height = unknownSide, unknownSide
	}
	w, h := float64(i.Width), float64(i.Height)
	if long := max(w, h); r.LongSide > 0 && long > r.LongSide {
		w, h = w*r.LongSide/long, h*r.LongSide/long
	}
	if short := min(w, h); r.ShortSide > 0 && short > r.ShortSide {
		w, h = w*r.ShortSide/short, h*r.ShortSide/short
	}
	var tiles float64
	if r.Area > 0 {
		tiles = math.Ceil(w * h / r.Area)
	} else {
		tiles = math.Ceil(w/r.Side) * math.Ceil(h/r.Side)
	}
	limit := r.MaxTiles
	if i.Detail == "original" && r.MaxTilesOriginal > 0 {
		limit = r.MaxTilesOriginal
	}
	if limit > 0 {
		tiles = min(tiles, limit)
	}
	return r.Base + int64(math.Ceil(tiles*r.PerTile))
}

// imageBound returns the maximum number of tokens that an image can have. A lower requested detail does not reduce it. For an image of
// unknown size, it assumes 768x2048, which has the most tiles at OpenAI, or 16384x16384, the largest size that providers accept,
// whichever has more tokens.
func (v *Vocabulary) imageBound(i llm.Image) int64 {
	sides := [][2]int{{768, 2048}, {16384, 16384}}
	if i.Width > 0 && i.Height > 0 {
		sides = [][2]int{{i.Width, i.Height}}
	}
	var most int64
	for _, side := range sides {
		for _, detail := range []string{i.Detail, ""} {
			most = max(most, v.image(llm.Image{Width: side[0], Height: side[1], Detail: detail}))
		}
	}
	return most
}
