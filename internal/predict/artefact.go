package predict

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Prior is what is known of a model before anything is known of it: the spread of abilities over the models learned from.
type Prior struct {
	Mean       []float64   // the intercept, then one weight for each skill
	Covariance [][]float64 // of the same length both ways
}

// Anchor is a typical prompt of a benchmark. A model's mean score on the benchmark is the weighted mean of its chances
// over the anchors.
type Anchor struct {
	Skills []float64
	Weight float64 // the weights of one benchmark sum to one
}

// Predictor turns prompts into sketches and knows the abilities it was trained with. It is never changed once parsed, so
// any number of goroutines may share one.
type Predictor struct {
	version   string
	net       *net
	desks     sync.Pool // of *desk
	prior     Prior
	anchors   map[string][]Anchor
	abilities map[string]Ability
	gauges    gaugeOnce // made when the first ability is asked for
}

// errArtefact is what every complaint about the file wraps.
var errArtefact = errors.New("predictor file")

// Version names the artefact and its content.
func (p *Predictor) Version() string { return p.version }

// Dimensions is the number of skills in a sketch.
func (p *Predictor) Dimensions() int { return len(p.prior.Mean) - 1 }

// Prior is the spread of abilities over the models learned from. The caller must not change it.
func (p *Predictor) Prior() Prior { return p.prior }

// Anchors are the typical prompts of a benchmark, none where the benchmark is not known. The caller must not change them.
func (p *Predictor) Anchors(benchmark string) []Anchor { return p.anchors[benchmark] }

// Benchmarks lists the names that Anchors knows, sorted.
func (p *Predictor) Benchmarks() []string { return slices.Sorted(maps.Keys(p.anchors)) }

// Known is the trained ability of a model by its canonical name.
func (p *Predictor) Known(model string) (Ability, bool) {
	a, ok := p.abilities[model]
	return a, ok
}

// Models lists the names that Known answers to, sorted.
func (p *Predictor) Models() []string { return slices.Sorted(maps.Keys(p.abilities)) }

// Parse reads an artefact that train/train.py has written. The predictor keeps using data.
func Parse(data []byte) (*Predictor, error) {
	f, err := openFile(data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	p := &Predictor{version: f.Name + "-" + hex.EncodeToString(sum[:6])}
	if p.net, err = f.readNet(); err != nil {
		return nil, err
	}
	if p.prior, err = f.readPrior(); err != nil {
		return nil, err
	}
	if p.abilities, err = f.readAbilities(); err != nil {
		return nil, err
	}
	if p.anchors, err = f.readAnchors(); err != nil {
		return nil, err
	}
	table := newWords()
	p.desks.New = func() any { return p.net.newDesk(table) }
	return p, nil
}

// skills is the number of skills.
func (f *file) skills() int { return f.Shared + len(f.Families) + len(f.Heads) }

func (f *file) readPrior() (Prior, error) {
	n := f.skills() + 1
	mean, err := f.floats("prior_mean", n)
	if err != nil {
		return Prior{}, err
	}
	covariance, err := f.floats("prior_covariance", n*n)
	if err != nil {
		return Prior{}, err
	}
	return Prior{Mean: mean, Covariance: slices.Collect(slices.Chunk(covariance, n))}, nil
}

// readAbilities reads for each model its spread, then its vector.
func (f *file) readAbilities() (map[string]Ability, error) {
	n := f.skills() + 2
	all, err := f.floats("abilities", n*len(f.Models))
	if err != nil {
		return nil, err
	}
	abilities := make(map[string]Ability, len(f.Models))
	for i, model := range f.Models {
		row := all[i*n : (i+1)*n]
		abilities[model] = Ability{Vector: row[1:], Spread: row[0], Source: FromTraining}
	}
	return abilities, nil
}

// readAnchors reads for each anchor its weight, then its skills.
func (f *file) readAnchors() (map[string][]Anchor, error) {
	n, count := f.skills()+1, 0
	for _, a := range f.Anchors {
		if a.Count < 0 || a.Count > 1<<16 {
			return nil, fmt.Errorf("%w: %d anchors of %s", errArtefact, a.Count, a.Name)
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
