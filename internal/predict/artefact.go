package predict

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// Prior is the ability distribution assumed for an unseen model.
type Prior struct {
	Mean       []float64   // intercept, then one weight per skill
	Covariance [][]float64 // covariance matrix with one row and column per element of Mean
}

// Anchor is a typical prompt of a benchmark. A model's mean score on the benchmark is the weighted mean of its
// success probabilities over the anchors.
type Anchor struct {
	Skills []float64
	Weight float64 // weight of the anchor; the weights of one benchmark sum to one
}

// Predictor computes the features of prompts and holds the trained abilities. It is immutable and safe for concurrent
// use.
type Predictor struct {
	version   string
	net       *net
	scratches sync.Pool // pool of *scratch
	prior     Prior
	anchors   map[string][]Anchor
	abilities map[string]Ability
	families  []Family
}

// Family is a kind of prompt in the training data.
type Family struct {
	Name  string
	Level int // index of the family's weight in an ability vector
}

// errArtefact is wrapped by every error about the file.
var errArtefact = errors.New("invalid predictor file")

// featureVersion is the version of the code that computes features. Increase it whenever feature values change: logged decisions store the
// version, and only decisions with features of the current version can be compared.
const featureVersion = 8

// Version identifies the content of the artefact and the code that computes features.
func (p *Predictor) Version() string { return p.version }

// Dimensions returns the number of skills.
func (p *Predictor) Dimensions() int { return len(p.prior.Mean) - 1 }

// Prior returns the ability distribution of the trained models. The caller must not change it.
func (p *Predictor) Prior() Prior { return p.prior }

// Anchors returns the typical prompts of a benchmark, or none for an unknown benchmark. The caller must not change
// them.
func (p *Predictor) Anchors(benchmark string) []Anchor { return p.anchors[benchmark] }

// Benchmarks lists the benchmarks that have anchors, sorted.
func (p *Predictor) Benchmarks() []string { return slices.Sorted(maps.Keys(p.anchors)) }

// Known returns the trained ability of a model by its canonical name.
func (p *Predictor) Known(model string) (Ability, bool) {
	a, ok := p.abilities[model]
	return a, ok
}

// Models lists the trained models, sorted.
func (p *Predictor) Models() []string { return slices.Sorted(maps.Keys(p.abilities)) }

// Families lists the families of the training data, in the order of Ability.Records. The caller must not change the list.
func (p *Predictor) Families() []Family { return p.families }

// Parse reads an artefact written by train/train.py. The predictor keeps a reference to data.
func Parse(data []byte) (*Predictor, error) {
	f, err := openFile(data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	p := &Predictor{version: f.Name + "." + strconv.Itoa(featureVersion) + "-" + hex.EncodeToString(sum[:6])}
	if p.net, err = f.readNet(); err != nil {
		return nil, err
	}
	n := f.skills() + 1
	if p.prior.Mean, err = f.floats("prior_mean", n); err != nil {
		return nil, err
	}
	covariance, err := f.floats("prior_covariance", n*n)
	if err != nil {
		return nil, err
	}
	p.prior.Covariance = slices.Collect(slices.Chunk(covariance, n))
	if p.abilities, err = f.readAbilities(); err != nil {
		return nil, err
	}
	if p.anchors, err = f.readAnchors(); err != nil {
		return nil, err
	}
	for i, name := range f.Families {
		p.families = append(p.families, Family{Name: name, Level: 1 + f.Shared + i})
	}
	table := newWords()
	p.scratches.New = func() any { return p.net.newScratch(table) }
	return p, nil
}

// skills returns the number of skills.
func (f *file) skills() int { return f.Shared + len(f.Families) + len(f.Heads) }

// readAbilities reads the spread, the vector and the number of recorded outcomes per family for each model.
func (f *file) readAbilities() (map[string]Ability, error) {
	n := f.skills() + 2
	all, err := f.floats("abilities", n*len(f.Models))
	if err != nil {
		return nil, err
	}
	families := len(f.Families)
	records, err := f.floats("records", families*len(f.Models))
	if err != nil {
		return nil, err
	}
	abilities := make(map[string]Ability, len(f.Models))
	for i, model := range f.Models {
		row := all[i*n : (i+1)*n]
		abilities[model] = Ability{Vector: row[1:], Spread: row[0], Source: FromTraining, Records: records[i*families : (i+1)*families]}
	}
	return abilities, nil
}

// readAnchors reads the weight and the skills of each anchor.
func (f *file) readAnchors() (map[string][]Anchor, error) {
	n, count := f.skills()+1, 0
	for _, a := range f.Anchors {
		if a.Count < 0 || a.Count > 1<<16 {
			return nil, fmt.Errorf("%w: invalid anchor count %d for %s", errArtefact, a.Count, a.Name)
		}
		count += a.Count
	}
	all, err := f.floats("anchors", n*count)
	if err != nil {
		return nil, err
	}
	rows := slices.Collect(slices.Chunk(all, n))
	anchors := make(map[string][]Anchor, len(f.Anchors))
	for _, a := range f.Anchors {
		for _, row := range rows[:a.Count] {
			anchors[a.Name] = append(anchors[a.Name], Anchor{Skills: row[1:], Weight: row[0]})
		}
		rows = rows[a.Count:]
	}
	return anchors, nil
}
