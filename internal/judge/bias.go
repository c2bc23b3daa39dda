package judge

import (
	"context"
	"fmt"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Bias is the result of testing a judge model on the built-in pairs. Preferences are in points: 100 means that the judge always has the
// preference, 0 that it has none.
type Bias struct {
	Pairs     int     `json:"pairs" doc:"Number of built-in pairs that were judged in both orders."`
	Position  float64 `json:"position" doc:"Preference for the first response in a single order, in points."`
	Corrected float64 `json:"corrected" doc:"Wrong verdicts in favour of the first response after judging in both orders, in points."`
	Length    float64 `json:"length" doc:"Preference for the longer of two equally good responses, in points."`
	Family    float64 `json:"family" doc:"Preference for the judge's own responses over equally good ones, in points."`
	Accuracy  float64 `json:"accuracy" doc:"Share of pairs with a known better response that the judge decided correctly."`
	Refused   string  `json:"refused,omitempty" doc:"Why the judge may not be used. Absent for a judge that may be used."`
}

// Limits for judges. A judge with a larger bias or a lower accuracy is refused.
const (
	maxPosition  = 40   // maximum position bias in points, in a single order; a larger bias would turn most verdicts into ties
	maxCorrected = 2    // maximum position bias in points, after judging in both orders
	maxLength    = 25   // maximum length bias in points
	maxFamily    = 50   // maximum preference for own responses in points; measured as an upper bound, because an own response may be better
	minAccuracy  = 0.75 // minimum share of correct verdicts on the pairs with a known better response
)

// measuring is the number of pairs that are judged at the same time.
const measuring = 4

// Measure judges the built-in pairs in both orders. For some requests, the judge first writes a response, which it then compares with the
// given one.
func Measure(ctx context.Context, ask Ask) (Bias, error) {
	pairs := Known()
	var mu sync.Mutex
	own := make([]KnownPair, 0, len(familyPairs()))
	if err := forEach(ctx, familyPairs(), func(ctx context.Context, _ int, p KnownPair) error {
		answer, err := ask(ctx, Prompt{System: "Answer in one or two sentences.", User: p.Request})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		p.First = answer
		own = append(own, p)
		return nil
	}); err != nil {
		return Bias{}, fmt.Errorf("generate the judge's own responses: %w", err)
	}
	pairs = append(pairs, own...)
	var t tally
	err := forEach(ctx, pairs, func(ctx context.Context, i int, p KnownPair) error {
		// Every second pair is listed in the reverse order, so that the order of the list has no effect.
		reversed := i%2 == 1
		if reversed {
			p.First, p.Second, p.Better = p.Second, p.First, -p.Better
		}
		one, _, err := decide(ctx, ask, Pair{Rubric(p.Task), p.Request, p.First, p.Second})
		if err != nil {
			return err
		}
		other, _, err := decide(ctx, ask, Pair{Rubric(p.Task), p.Request, p.Second, p.First})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		t.add(p, reversed, one, other)
		return nil
	})
	if err != nil {
		return Bias{}, fmt.Errorf("judge the built-in pairs: %w", err)
	}
	return t.bias(), nil
}

func forEach(ctx context.Context, pairs []KnownPair, do func(ctx context.Context, i int, p KnownPair) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(measuring)
	for i, p := range pairs {
		group.Go(func() error { return do(ctx, i, p) })
	}
	return group.Wait()
}

// tally sums the verdicts on the built-in pairs.
type tally struct {
	pairs, answered, right, length, family int
	position, corrected, longer, own       float64
}

// add adds a pair. one is the verdict in the first order, and other is the verdict in the reverse order. Each verdict is positive if
// the judge prefers the response that was shown first.
func (t *tally) add(p KnownPair, reversed bool, one, other float64) {
	t.pairs++
	t.position += (one + other) / 2
	combined := 0.0 // verdict of both orders: positive for the response that is listed first, 0 for a tie
	if one == -other {
		combined = one
	}
	if combined != p.Better {
		t.corrected += combined // combined is 0 for a tie, which favours no position
	}
	listed := combined
	if reversed {
		listed = -combined
	}
	switch p.Kind {
	case Answered:
		t.answered++
		if combined == p.Better {
			t.right++
		}
	case Longer:
		t.length++
		t.longer += listed
	case Own:
		t.family++
		t.own += listed
	}
}

func (t *tally) bias() Bias {
	points := func(sum float64, n int) float64 { return math.Round(1000*sum/float64(max(n, 1))) / 10 }
	b := Bias{
		Pairs: t.pairs, Position: points(t.position, t.pairs), Corrected: points(t.corrected, t.pairs), Length: points(t.longer, t.length),
		Family: points(t.own, t.family), Accuracy: float64(t.right) / float64(max(t.answered, 1)),
	}
	switch {
	case math.Abs(b.Position) > maxPosition:
		b.Refused = fmt.Sprintf("It prefers the position of a response by %.1f points; at most %d are allowed.", b.Position, maxPosition)
	case b.Accuracy < minAccuracy:
		b.Refused = fmt.Sprintf("It decides %.0f %% of the pairs with a known answer correctly; at least %.0f %% are required.", 100*b.Accuracy, 100*minAccuracy)
	case math.Abs(b.Corrected) > maxCorrected:
		b.Refused = fmt.Sprintf("Judging in both orders leaves a position bias of %.1f points; at most %d are allowed.", b.Corrected, maxCorrected)
	case math.Abs(b.Length) > maxLength:
		b.Refused = fmt.Sprintf("It prefers longer or shorter responses by %.1f points; at most %d are allowed.", b.Length, maxLength)
	case math.Abs(b.Family) > maxFamily:
		b.Refused = fmt.Sprintf("It prefers its own responses by %.1f points; at most %d are allowed.", b.Family, maxFamily)
	}
	return b
}
