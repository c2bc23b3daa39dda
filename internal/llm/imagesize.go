package llm

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif"  // registers the format
	_ "image/jpeg" // registers the format
	_ "image/png"  // registers the format
	"strings"
)

const (
	maxSide     = 1 << 16
	webpHeader  = 30       // number of bytes that hold the size of a WebP file
	alphabetTip = 4 << 10  // number of characters that are searched for the URL-safe alphabet
	maxHeader   = 64 << 10 // number of characters that are searched for the size
)

// ImageOf reads the size of an image from the start of its base64 data, with or without a data URL prefix. The size
// is 0 if the data is not PNG, JPEG, GIF or WebP. Only the bytes before the size are decoded.
func ImageOf(data, detail string) Image {
	if strings.HasPrefix(data, "data:") {
		_, data, _ = strings.Cut(data, ",")
	}
	data = data[:min(len(data), maxHeader)]
	i := Image{Detail: detail}
	if detail == "auto" {
		i.Detail = ""
	}
	alphabet := base64.StdEncoding
	if strings.ContainsAny(data[:min(len(data), alphabetTip)], "-_") {
		alphabet = base64.URLEncoding
	}
	file := bufio.NewReader(base64.NewDecoder(alphabet, strings.NewReader(data)))
	head, _ := file.Peek(webpHeader) // fewer bytes of a shorter file
	if len(head) > 16 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP" {
		i.Width, i.Height = webpSize(head)
	} else if config, _, err := image.DecodeConfig(file); err == nil {
		i.Width, i.Height = config.Width, config.Height
	}
	if i.Width <= 0 || i.Height <= 0 || i.Width > maxSide || i.Height > maxSide {
		i.Width, i.Height = 0, 0
	}
	return i
}

// webpSize reads the size of a lossy, lossless or extended WebP file.
func webpSize(head []byte) (width, height int) {
	read := binary.LittleEndian
	switch kind := string(head[12:16]); {
	case kind == "VP8 " && len(head) == webpHeader:
		return int(read.Uint16(head[26:]) & 0x3fff), int(read.Uint16(head[28:]) & 0x3fff)
	case kind == "VP8L" && len(head) >= 25:
		bits := read.Uint32(head[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case kind == "VP8X" && len(head) == webpHeader:
		return int(read.Uint32(head[24:])&0xffffff) + 1, int(read.Uint32(head[26:])>>8) + 1
	}
	return 0, 0
}
