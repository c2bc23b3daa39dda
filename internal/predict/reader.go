package predict

// Reader computes prompt features for the training scripts, so that they use the same code as Predictor. It is not safe for concurrent use.
type Reader struct{ x extractor }

// NewReader returns a Reader.
func NewReader() *Reader { return &Reader{extractor{table: newWords()}} }

// Read calls the function f with the block and the hash of every n-gram. It returns the dense features, which the next call overwrites.
func (r *Reader) Read(text string, f func(block int, hash uint32)) (dense []float64) {
	r.x.read(text)
	for b, list := range r.x.hashes {
		for _, h := range list {
			f(b, h)
		}
	}
	return r.x.dense[:]
}
