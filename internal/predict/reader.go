package predict

// Reader computes the features of a text for the training scripts, so that they use the same code as the Predictor. It is not safe for
// concurrent use.
type Reader struct{ x extractor }

// NewReader returns a Reader.
func NewReader() *Reader { return &Reader{extractor{table: newWords()}} }

// Read calls f with the hash of every n-gram and its block, and returns the dense features, which the next call
// overwrites.
func (r *Reader) Read(text string, f func(block int, hash uint32)) (dense []float64) {
	r.x.read(text)
	for b, list := range r.x.hashes {
		for _, h := range list {
			f(b, h)
		}
	}
	return r.x.dense[:]
}
