//go:build costs

package keyring

import (
	"flag"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/account/secret"
)

var timingSamples = flag.Int("timing.samples", 20_000, "how many key checks are timed")

// timingRounds is the number of consecutive rounds, each with different keys, in which a difference must be measured for the test
// to fail. A leak shows in every round; noise does not.
const timingRounds = 4

// TestTimeOfAKeyCheckRevealsNothing times wrong keys of two kinds in random order: keys that differ from a valid key in one
// character, and random keys. Welch's t of the two samples must stay below 4.5.
func TestTimeOfAKeyCheckRevealsNothing(t *testing.T) { //nolint:paralleltest // the test measures time
	worst := 0.0
	for range timingRounds {
		if worst = timeKeyChecks(t); math.Abs(worst) < 4.5 {
			return
		}
	}
	t.Errorf("t = %.2f: the time of a check depends on how similar the key is to a valid one", worst)
}

// timeKeyChecks returns the Welch's t with the largest absolute value, computed with several cut-offs. The cut-offs remove the
// slowest checks, which would hide a small difference.
func timeKeyChecks(t *testing.T) (worst float64) {
	t.Helper()
	store := newFakeStore(t)
	var known []string
	for range 50 {
		_, text := store.add(nil)
		known = append(known, text)
	}
	ring := loaded(t, store, Options{})
	strange := make([]string, len(known)) // as many unknown keys as known ones, so that branch prediction is the same for both kinds
	for i := range strange {
		strange[i] = secret.NewKey()
	}
	times, header := [2][]float64{}, http.Header{}
	for range *timingSamples {
		kind := rand.IntN(2)
		of := [2][]string{known, strange}[kind]
		// Build a new string for each check, so that its address and hash vary.
		header.Set("Authorization", "Bearer "+nearTo(of[rand.IntN(len(of))], rand.IntN(len(secret.Base62)-1)))
		began := time.Now()
		_, err := ring.Authenticate(header)
		took := time.Since(began)
		if err == nil {
			t.Fatal("a wrong key is accepted")
		}
		times[kind] = append(times[kind], float64(took))
	}
	all := slices.Sorted(slices.Values(slices.Concat(times[0], times[1])))
	for _, share := range []float64{0.5, 0.9, 0.99} {
		bound := all[int(share*float64(len(all)-1))]
		if got := welch(below(times[0], bound), below(times[1], bound)); math.Abs(got) > math.Abs(worst) {
			worst = got
		}
	}
	t.Logf("t = %.2f over %d checks, median %s", worst, len(all), time.Duration(all[len(all)/2]))
	return worst
}

// nearTo returns a key that differs from text only in its last random character.
func nearTo(text string, variant int) string {
	last := secret.KeyLength - len(secret.KeyChecksum("")) - 1
	other := strings.IndexByte(secret.Base62, text[last]) + 1 + variant
	near := text[:last] + string(secret.Base62[other%len(secret.Base62)])
	return near + secret.KeyChecksum(near)
}

func below(all []float64, bound float64) []float64 {
	return slices.DeleteFunc(slices.Clone(all), func(x float64) bool { return x > bound })
}

// welch returns Welch's t of two samples.
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
