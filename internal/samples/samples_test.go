package samples

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator"
)

func TestSamplesAreSentWithLimitedConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var progress []int
		began := time.Now()
		err := sendAll(t.Context(), make([]simulator.SampleRequest, 13), func(context.Context, simulator.SampleRequest) error {
			time.Sleep(time.Second)
			return nil
		}, func(done, total int) {
			if total != 13 {
				t.Errorf("total = %d, want 13", total)
			}
			progress = append(progress, done)
		})
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, progress); err != nil || diff != "" {
			t.Errorf("error %v, progress (-want +got):\n%s", err, diff)
		}
		if took := time.Since(began); took != 3*time.Second { // batches of six, six and one
			t.Errorf("took %s, want 3s", took)
		}
	})
}

func TestSendingStopsOnCancelAndOnTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		send func(ctx context.Context, cancel func()) error
		want error
	}{
		"cancel": {func(ctx context.Context, cancel func()) error { cancel(); return ctx.Err() }, context.Canceled},
		"error":  {func(context.Context, func()) error { return broken }, broken},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		sent := 0
		err := sendAll(ctx, make([]simulator.SampleRequest, 1000), func(ctx context.Context, _ simulator.SampleRequest) error {
			return test.send(ctx, cancel)
		}, func(done, _ int) { sent = done })
		cancel()
		if !errors.Is(err, test.want) || sent > workers {
			t.Errorf("%s: %d requests sent, error %v; want at most %d and %v", name, sent, err, workers, test.want)
		}
	}
}
