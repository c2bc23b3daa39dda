package account

import (
	"flag"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

var timingSamples = flag.Int("timing.samples", 20_000, "how many key checks are timed")

// How long a wrong key takes to be refused tells nothing of how near it is to a right one: Welch's t of two kinds of wrong keys,
// timed in random order, stays below 4.5 wherever the slowest are cut off.
func TestTheTimeOfAKeyCheckTellsNothing(t *testing.T) { //nolint:paralleltest // it measures
	shelf := newShelf(t)
	var known []string
	for range 50 {
		_, text := shelf.add(nil)
		known = append(known, text)
	}
	ring := loaded(t, shelf, KeyringOptions{})
	strange := make([]string, len(known)) // as many beginnings, so that the processor learns both as well
	for i := range strange {
		strange[i] = newKeyText()
	}
	times, header := [2][]float64{}, http.Header{}
	for range *timingSamples {
		kind := rand.IntN(2)
		of := [2][]string{known, strange}[kind]
		// Made anew every time: neither where a text lies nor where its hash happens to fall must be what is measured.
		header.Set("Authorization", "Bearer "+nearTo(of[rand.IntN(len(of))], rand.IntN(len(base62)-1)))
		began := time.Now()
		_, err := ring.Authenticate(header)
		took := time.Since(began)
		if err == nil {
			t.Fatal("a wrong key is accepted")
		}
		times[kind] = append(times[kind], float64(took))
	}
	worst := 0.0
	all := slices.Sorted(slices.Values(slices.Concat(times[0], times[1])))
	for _, share := range []float64{0.5, 0.9, 0.99} { // a scheduler's pauses would hide what is looked for
		bound := all[int(share*float64(len(all)-1))]
		if got := welch(below(times[0], bound), below(times[1], bound)); math.Abs(got) > math.Abs(worst) {
			worst = got
		}
	}
	t.Logf("t = %.2f over %d checks, median %s", worst, len(all), time.Duration(all[len(all)/2]))
	if math.Abs(worst) >= 4.5 {
		t.Errorf("t = %.2f: the time of a check tells how near a key is", worst)
	}
}

// nearTo differs from a key in its last random character alone.
func nearTo(text string, variant int) string {
	last := keyLength - checksumSize - 1
	other := strings.IndexByte(base62, text[last]) + 1 + variant
	near := text[:last] + string(base62[other%len(base62)])
	return near + checksum(near)
}

func below(all []float64, bound float64) []float64 {
	return slices.DeleteFunc(slices.Clone(all), func(x float64) bool { return x > bound })
}

// welch is Welch's t of two samples.
func welch(a, b []float64) float64 {
	meanA, varA := spread(a)
	meanB, varB := spread(b)
	return (meanA - meanB) / math.Sqrt(varA/float64(len(a))+varB/float64(len(b)))
}

func spread(all []float64) (mean, variance float64) {
	for _, x := range all {
		mean += x / float64(len(all))
	}
	for _, x := range all {
		variance += (x - mean) * (x - mean) / float64(len(all)-1)
	}
	return mean, variance
}

func TestWelch(t *testing.T) {
	t.Parallel()
	a, b := []float64{27.5, 21, 19, 23.6, 17, 17.9}, []float64{27.1, 22, 20.8, 23.4, 23.4, 23.5}
	if got := welch(a, b); math.Abs(got+1.2816) > 0.01 {
		t.Errorf("t = %v", got)
	}
}
