package predict

import (
	"encoding/binary"
	"math"
	"slices"
)

// scratch holds the buffers for computing features. They are pooled, because the table of seen buckets alone is
// several kilobytes.
type scratch struct {
	x    extractor
	seen []uint64          // set of the buckets seen so far, with one bit per bucket
	rows []uint32          // buckets of the current block
	acc  [lanes / 4]uint64 // sums of weight bytes with 16 bits per lane, so that eight lanes use two words
	sums [lanes]int64      // sums of the current block
	out  [lanes]float64    // sums of all blocks
}

const (
	lanes      = 40 // length of a table row; constant, so that the compiler can unroll the inner loop
	evenBytes  = 0x00FF00FF00FF00FF
	fullLanes  = 256 // maximum number of rows whose sum fits in 16 bits
	weightBias = 128 // byte value of a zero weight; weights are stored as bytes
)

// Features returns the features of a prompt. Equal prompts have equal features.
func (p *Predictor) Features(prompt Prompt) Features {
	s := Features{Task: TaskOf(prompt), Language: LanguageOf(prompt.Text)}
	d := p.scratches.Get().(*scratch)
	s.Skills, s.Known = p.net.skills(d, prompt.Text)
	p.scratches.Put(d)
	if unknown := 1 - s.Known; unknown > 0 {
		s.Ease -= math.Round(1000*unknown*demandOf(prompt.Text)) / 1000
	}
	s.Output = p.outputLength(&s, prompt.Text)
	return s
}

func (n *net) newScratch(table *words) *scratch {
	return &scratch{
		x:    extractor{table: table, normal: make([]byte, 0, sampleAbove+sampleBlock)},
		seen: make([]uint64, (n.buckets+63)/64),
	}
}

// skills returns the skill vector of a prompt and its similarity to the training data.
func (n *net) skills(d *scratch, text string) ([]float64, float64) {
	d.x.read(text)
	d.out = [lanes]float64{}
	for b, list := range d.x.hashes {
		n.block(d, list, n.blocks[b])
	}
	for l := range d.out {
		d.out[l] *= n.scale[l]
	}
	n.addDense(d)
	return n.join(d.out[:])
}

// block adds the mean weight of the distinct buckets of a block to the output, multiplied by the square root of their number and by the
// weight of the block.
func (n *net) block(d *scratch, list []uint32, weight float64) {
	rows := n.distinct(d, list)
	if len(rows) == 0 {
		return
	}
	d.sums = [lanes]int64{}
	for some := range slices.Chunk(rows, fullLanes) {
		n.addRows(&d.acc, some)
		for i := 0; i < len(d.acc); i += 2 { // add the 16-bit sums to the 64-bit sums
			even, odd := d.acc[i], d.acc[i+1]
			for j := range 4 {
				d.sums[i*4+2*j] += int64(even >> (16 * j) & 0xFFFF)
				d.sums[i*4+2*j+1] += int64(odd >> (16 * j) & 0xFFFF)
			}
		}
		d.acc = [lanes / 4]uint64{}
	}
	root := weight / math.Sqrt(float64(len(rows)))
	for l, sum := range d.sums {
		d.out[l] += root * float64(sum-int64(weightBias*len(rows)))
	}
}

// distinct returns the distinct buckets of the hashes and clears the table of seen buckets. It avoids branches, because
// the processor cannot predict whether a bucket is new.
func (n *net) distinct(d *scratch, list []uint32) []uint32 {
	d.rows = slices.Grow(d.rows[:0], len(list))[:len(list)]
	rows, seen, buckets, count := d.rows, d.seen, uint64(n.buckets), 0
	for _, h := range list {
		bucket := uint64(h>>4) * buckets >> 28
		word, bit := &seen[bucket/64], uint64(1)<<(bucket%64)
		rows[count] = uint32(bucket)
		if *word&bit == 0 { // compiled without a branch
			count++
		}
		*word |= bit
	}
	rows = rows[:count]
	for _, bucket := range rows { // cheaper than clearing the whole table
		seen[bucket/64] = 0
	}
	return rows
}

// addRows adds the weights of the buckets, eight at a time. It adds the even bytes of a word to one sum and the odd bytes to the next. It
// processes four rows together, so that their memory accesses overlap.
func (n *net) addRows(acc *[lanes / 4]uint64, buckets []uint32) {
	for ; len(buckets) >= 4; buckets = buckets[4:] {
		a, b, c, d := n.row(buckets[0]), n.row(buckets[1]), n.row(buckets[2]), n.row(buckets[3])
		for i := range lanes / 8 {
			va, vb := binary.LittleEndian.Uint64(a[8*i:]), binary.LittleEndian.Uint64(b[8*i:])
			vc, vd := binary.LittleEndian.Uint64(c[8*i:]), binary.LittleEndian.Uint64(d[8*i:])
			acc[2*i] += va&evenBytes + vb&evenBytes + vc&evenBytes + vd&evenBytes
			acc[2*i+1] += va>>8&evenBytes + vb>>8&evenBytes + vc>>8&evenBytes + vd>>8&evenBytes
		}
	}
	for _, bucket := range buckets {
		row := n.row(bucket)
		for i := range lanes / 8 {
			v := binary.LittleEndian.Uint64(row[8*i:])
			acc[2*i] += v & evenBytes
			acc[2*i+1] += v >> 8 & evenBytes
		}
	}
}

// row returns the weights of a bucket.
func (n *net) row(bucket uint32) *[lanes]byte { return (*[lanes]byte)(n.table[int(bucket)*lanes:]) }

// addDense adds the dense features, each limited to three standard deviations in the training data. It sums eight lanes at a time, which
// fit in registers.
func (n *net) addDense(d *scratch) {
	x := &d.x.dense
	for i, v := range x {
		x[i] = min(max((v-n.denseMean[i])/n.denseScale[i], -3), 3)
	}
	for l := 0; l < lanes; l += 8 {
		s, o := (*[8]float64)(d.out[l:]), (*[8]float64)(n.offset[l:])
		s0, s1, s2, s3 := s[0]+o[0], s[1]+o[1], s[2]+o[2], s[3]+o[3]
		s4, s5, s6, s7 := s[4]+o[4], s[5]+o[5], s[6]+o[6], s[7]+o[7]
		for i, v := range x {
			w := (*[8]float64)(n.dense[i*lanes+l:])
			s0, s1, s2, s3 = s0+v*w[0], s1+v*w[1], s2+v*w[2], s3+v*w[3]
			s4, s5, s6, s7 = s4+v*w[4], s5+v*w[5], s6+v*w[6], s7+v*w[7]
		}
		*s = [8]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	}
}

// join computes the skills from the lanes: the shared skills, the family shares, and the heads of each family multiplied by its share. A
// prompt unlike the training data has only shared skills and equal family shares. A prompt like the training data has only the shares and
// heads of its families.
func (n *net) join(sums []float64) ([]float64, float64) {
	levels, families := sums[:n.shared+len(n.heads)], sums[n.shared+len(n.heads):][:n.families]
	for l := range levels {
		levels[l] = min(max(levels[l], -n.clip), n.clip)
	}
	shared, heads := levels[:n.shared], levels[n.shared:]
	known := n.known(families)
	maxScore, sum := slices.Max(families), 0.0
	for i, s := range families { // softmax: shares that sum to one
		families[i] = math.Exp(n.sharpness * (s - maxScore))
		sum += families[i]
	}
	for i := range families {
		families[i] /= sum
	}
	skills := make([]float64, 0, n.shared+n.families+len(n.heads))
	for _, u := range shared {
		skills = append(skills, (1-known)*u)
	}
	for _, part := range families {
		skills = append(skills, known*part+(1-known)/float64(n.families))
	}
	for i, u := range heads {
		skills = append(skills, known*families[n.heads[i]]*u)
	}
	for i, z := range skills {
		skills[i] = math.Round(z*1000) / 1000
	}
	return skills, math.Round(known*1000) / 1000
}

// Typical returns the skills that an unknown prompt is assumed to have. A model's success probability for them is its general ability.
func (p *Predictor) Typical() []float64 {
	n := p.net
	skills := make([]float64, n.shared+n.families+len(n.heads))
	for f := range n.families {
		skills[n.shared+f] = 1 / float64(n.families)
	}
	return skills
}

// known returns the similarity to the training data, from 0 to 1. It is low if every family's score
// for the prompt is lower than for the family's own prompts.
func (n *net) known(scores []float64) float64 {
	best := 0
	for f, s := range scores {
		if s > scores[best] {
			best = f
		}
	}
	known := 1 / (1 + math.Exp(-(n.knownWeights[0] + n.knownWeights[1]*scores[best]/n.typical[best])))
	if known < n.knownWeights[2] {
		return 0 // at such a low similarity, the learned skills are not meaningful
	}
	return known
}
