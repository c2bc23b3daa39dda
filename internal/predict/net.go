package predict

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// net is the trained model that turns text into skills.
type net struct {
	buckets               int       // number of table rows
	blocks                []float64 // weight of each block
	shared, families      int       // number of shared skills, and number of families
	heads                 []int
	table                 []byte    // weight table of size buckets × lanes, in row-major order
	scale, offset         []float64 // scale of the table weights and offset of the sum, by lane
	dense                 []float64 // weights of the dense features, of size denseCount × lanes
	denseMean, denseScale []float64
	sharpness, clip       float64   // sharpness of the softmax over family scores; maximum absolute value of a skill
	typical               []float64 // score that nearly all of a family's own prompts exceed, by family
	knownWeights          []float64 // intercept and slope of Known's logit over the best relative family score; cutoff below which it is 0
}

// header describes the sections that follow it.
type header struct {
	Name         string             `json:"name"`
	Buckets      int                `json:"buckets"`
	Blocks       []float64          `json:"blocks"`
	Lanes        int                `json:"lanes"`
	Shared       int                `json:"shared"`
	Families     []string           `json:"families"`
	Heads        []int              `json:"heads"` // family of each head
	Dense        int                `json:"dense"`
	Sharpness    float64            `json:"sharpness"`
	Clip         float64            `json:"clip"`
	KnownWeights []float64          `json:"known"`
	Typical      []float64          `json:"typical"`
	Models       []string           `json:"models"`
	Anchors      []anchorHeader     `json:"anchors"`
	Sections     map[string]section `json:"sections"`
}

type anchorHeader struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// section is the location of a list of numbers in the file.
type section struct {
	Offset int `json:"offset"`
	Length int `json:"length"` // length in bytes
}

const magic = "FLPRED04"

// file is an artefact with its header decoded.
type file struct {
	header
	body []byte
}

func openFile(data []byte) (*file, error) {
	if len(data) < len(magic)+4 || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not start with %s", errArtefact, magic)
	}
	size := int(binary.LittleEndian.Uint32(data[len(magic):]))
	data = data[len(magic)+4:]
	if size > len(data) {
		return nil, fmt.Errorf("%w: truncated header", errArtefact)
	}
	f := &file{body: data[size:]}
	if err := json.Unmarshal(data[:size], &f.header); err != nil {
		return nil, fmt.Errorf("%w: header: %w", errArtefact, err)
	}
	return f, f.validate()
}

// validate rejects files that do not match this version of the code.
func (f *file) validate() error {
	switch skills := f.skills(); {
	case f.Dense != denseCount:
		return fmt.Errorf("%w: it has %d dense features, want %d: train again", errArtefact, f.Dense, denseCount)
	case f.Lanes != lanes || skills > lanes:
		return fmt.Errorf("%w: it has %d lanes for %d skills, want %d lanes", errArtefact, f.Lanes, skills, lanes)
	case f.Shared < 0 || len(f.Families) == 0 || len(f.Blocks) != blockCount || len(f.KnownWeights) != 3 || len(f.Typical) != len(f.Families) || f.Clip <= 0 || f.Sharpness <= 0:
		return fmt.Errorf("%w: the header is incomplete", errArtefact)
	case f.Buckets <= 0 || f.Buckets > 1<<24:
		return fmt.Errorf("%w: invalid number of buckets %d", errArtefact, f.Buckets)
	}
	for i, score := range f.Typical {
		if score <= 0 {
			return fmt.Errorf("%w: invalid typical score of family %s: %g", errArtefact, f.Families[i], score)
		}
	}
	for _, family := range f.Heads {
		if family < 0 || family >= len(f.Families) {
			return fmt.Errorf("%w: an output head refers to unknown family %d", errArtefact, family)
		}
	}
	return nil
}

// bytes returns a section, which must have the given size in bytes.
func (f *file) bytes(name string, size int) ([]byte, error) {
	s, ok := f.Sections[name]
	if !ok || s.Length != size || s.Offset < 0 || s.Offset > len(f.body) || size > len(f.body)-s.Offset {
		return nil, fmt.Errorf("%w: section %s is missing, outside the file or not %d bytes long", errArtefact, name, size)
	}
	return f.body[s.Offset : s.Offset+size], nil
}

// floats returns a section of count 32-bit numbers, which must be finite.
func (f *file) floats(name string, count int) ([]float64, error) {
	raw, err := f.bytes(name, 4*count)
	if err != nil {
		return nil, err
	}
	list := make([]float64, count)
	for i := range list {
		list[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
		if math.IsNaN(list[i]) || math.IsInf(list[i], 0) {
			return nil, fmt.Errorf("%w: section %s has a number that is not finite", errArtefact, name)
		}
	}
	return list, nil
}

// readNet reads the trained model.
func (f *file) readNet() (*net, error) {
	n := &net{
		buckets: f.Buckets, blocks: f.Blocks, shared: f.Shared, families: len(f.Families), heads: f.Heads,
		sharpness: f.Sharpness, clip: f.Clip, typical: f.Typical, knownWeights: f.KnownWeights,
	}
	var err error
	if n.table, err = f.bytes("table", n.buckets*lanes); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name string
		into *[]float64
		size int
	}{
		{"scale", &n.scale, lanes},
		{"offset", &n.offset, lanes},
		{"dense", &n.dense, denseCount * lanes},
		{"dense_mean", &n.denseMean, denseCount},
		{"dense_scale", &n.denseScale, denseCount},
	} {
		if *part.into, err = f.floats(part.name, part.size); err != nil {
			return nil, err
		}
	}
	for i, s := range n.denseScale {
		if s <= 0 {
			return nil, fmt.Errorf("%w: the scale of dense feature %d is not positive", errArtefact, i)
		}
	}
	return n, nil
}
