package predict

import (
	"encoding/binary"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"
)

// The blocks of hashed features. Each block is normalised separately.
const (
	blockWord = iota // single words, with every digit replaced with 0
	blockPair        // features of two adjacent words
	blockFour        // sequences of four bytes in the normalised text
	blockLead        // first and last words, which are characteristic of a prompt
	blockCount
)

// Byte classes in the normalised text.
const (
	byteSpace = iota
	byteLetter
	byteDigit
	byteSign
)

const (
	sampleAbove = 6 << 10 // size in bytes above which only the start, the end and some blocks between them are read
	sampleEnd   = 1536
	sampleBlock = 512
	sampleMid   = 5
)

// extractor holds the buffers for reading a prompt. They are reused for the next prompt. An extractor is not safe for concurrent use.
type extractor struct {
	table  *words
	normal []byte // normal form of the prompt: lower case, single spaces, digits as 0
	dense  [denseCount]float64
	counts [kindCount]int
	hashes [blockCount][]uint32 // hash of every occurrence; only the upper 28 bits are used
}

// read computes the hashes and dense features of a prompt.
func (x *extractor) read(text string) {
	length := len(text)
	x.normal = x.normal[:0]
	x.dense = [denseCount]float64{}
	x.counts = [kindCount]int{}
	for b := range x.hashes {
		x.hashes[b] = x.hashes[b][:0]
	}
	var look textStats
	eachPart(text, func(part string) {
		x.normal = append(x.normal, ' ')
		x.normal = look.normalise(x.normal, part)
	})
	x.normal = append(x.normal, ' ')
	fours := slices.Grow(x.hashes[blockFour], len(x.normal))
	for buf := x.normal; len(buf) >= 4; buf = buf[1:] {
		fours = append(fours, binary.LittleEndian.Uint32(buf)*fourPrime)
	}
	x.hashes[blockFour] = fours
	x.wordsAndPairs(&look)
	x.fill(&look, length)
}

// eachPart calls the function f with the whole prompt, or with samples of a long prompt. Samples never split a rune.
func eachPart(text string, f func(string)) {
	if len(text) <= sampleAbove {
		f(text)
		return
	}
	f(text[:runeStart(text, sampleEnd)])
	inner := len(text) - 2*sampleEnd
	for i := range sampleMid {
		at := sampleEnd + (inner-sampleBlock)*(i+1)/(sampleMid+1)
		f(text[runeStart(text, at):runeStart(text, at+sampleBlock)])
	}
	f(text[runeStart(text, len(text)-sampleEnd):])
}

func runeStart(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// normalise appends the normal form of a part of the text and counts the properties that the normal form does not preserve.
func (s *textStats) normalise(dst []byte, part string) []byte {
	for lineStart := true; part != ""; {
		if part[0] >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(part)
			s.rune(r)
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
			part, lineStart = part[size:], false
			continue
		}
		if lineStart {
			s.line(part)
		}
		var n int
		dst, n = s.plain(dst, part)
		lineStart = part[n-1] == '\n'
		part = part[n:]
	}
	return dst
}

// plain appends the normal form of the leading ASCII text up to the end of the line and returns its length. It avoids
// unpredictable branches: a space is always written, and the next byte overwrites it if it follows another space.
func (s *textStats) plain(dst []byte, part string) ([]byte, int) {
	end, upper, i := len(dst), 0, 0
	space := normals[dst[end-1]].space
	dst = slices.Grow(dst, len(part))[:end+len(part)]
	for ; i < len(part) && part[i] < utf8.RuneSelf; i++ {
		one := &normals[part[i]]
		dst[end] = one.byte
		end += int(1 - one.space&space)
		space = one.space
		upper += int(one.upper)
		if one.counted {
			s.bytes[part[i]]++
		}
		if part[i] == '\n' {
			s.lines++
			i++
			break
		}
	}
	s.upper += upper
	return dst[:end], i
}

// normals maps every ASCII byte to its normal form and class. Bytes of the normal form map to themselves.
var normals = func() (table [256]normal) {
	for i := range table {
		one := normal{byte: byte(i), class: byteSign}
		switch c := byte(i); {
		case c >= 'A' && c <= 'Z':
			one = normal{byte: c + 'a' - 'A', class: byteLetter, upper: 1}
		case c >= 'a' && c <= 'z', c >= utf8.RuneSelf, c == '\'':
			one.class = byteLetter
		case c >= '0' && c <= '9':
			one = normal{byte: '0', class: byteDigit}
		case c <= ' ':
			one = normal{byte: ' ', class: byteSpace, space: 1}
		}
		one.counted = one.class == byteSign || i == '\''
		table[i] = one
	}
	return table
}()

type normal struct {
	byte, class  byte
	space, upper byte // space is 1 for a space; upper is 1 for a capital letter
	counted      bool // whether the number of occurrences is a feature
}

const (
	fourPrime = 0x9E3779B1
	wordPrime = 0x01000193
	wordBasis = 0x811C9DC5
	leadWords = 3
)

// wordsAndPairs hashes words and pairs of adjacent words, and counts the words of each kind.
func (x *extractor) wordsAndPairs(look *textStats) {
	buf, single, pairs := x.normal, x.hashes[blockWord], x.hashes[blockPair]
	before := uint32(0)
	for i := 0; i < len(buf); {
		class := normals[buf[i]].class
		if class != byteLetter && class != byteDigit {
			i++
			continue
		}
		start, h := i, uint32(wordBasis)
		for i < len(buf) && normals[buf[i]].class == class {
			h = (h ^ uint32(buf[i])) * wordPrime
			i++
		}
		look.word(class, i-start)
		if class == byteLetter {
			x.counts[x.table.kind(h)]++
		}
		h = mix(h)
		single = append(single, h)
		pairs = append(pairs, mix(before*31+h))
		before = h
	}
	pairs = append(pairs, mix(before*31))
	x.hashes[blockWord], x.hashes[blockPair] = single, pairs
	first, last := uint32(1), uint32(2)
	for i := range min(leadWords, len(single)) { // the first one, two and three words, and the last one, two and three words
		first = mix(first*31 + single[i])
		last = mix(last*31 + single[len(single)-1-i])
		x.hashes[blockLead] = append(x.hashes[blockLead], first, last)
	}
}

// mix spreads the bits of a hash, so that its upper bits select a bucket well.
func mix(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x7FEB352D
	h ^= h >> 15
	h *= 0x846CA68B
	return h ^ h>>16
}

// logCount returns log(n+1). Small counts are precomputed.
func logCount(n int) float64 {
	if n < len(logCounts) {
		return logCounts[n]
	}
	return math.Log1p(float64(n))
}

var logCounts = func() (table [64]float64) {
	for n := range table {
		table[n] = math.Log1p(float64(n))
	}
	return table
}()

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
