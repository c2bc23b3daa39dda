package predict

// Reader hands the features of a text to the training scripts, which therefore never compute their own. It is not for
// several goroutines.
type Reader struct{ x extract }

// NewReader returns a Reader.
func NewReader() *Reader { return &Reader{extract{table: newWords()}} }

// Read calls f for the hash of every n-gram, with the block it belongs to, and returns the dense features, which the next
// call overwrites.
func (r *Reader) Read(text string, f func(block int, hash uint32)) (dense []float64) {
	r.x.read(text)
	for b, list := range r.x.hashes {
		for _, h := range list {
			f(b, h)
		}
	}
	return r.x.dense[:]
}
