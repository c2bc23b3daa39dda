package predict

import (
	"math"
	"testing"
)

func TestRateComparesMediumTasks(t *testing.T) {
	t.Parallel()
	a := AtQuality(0.7)
	a.Levels[Code.Index()]++
	r := Rate(&a, func(f Family) float64 {
		if f == Maths {
			return -1
		}
		return 0
	})
	code, chat, maths := r.Families[Code.Index()], r.Families[Chat.Index()], r.Families[Maths.Index()]
	if math.Abs(chat.Mean-0.7) > 1e-9 || !(maths.Mean < chat.Mean && chat.Mean < code.Mean) || r.Source != FromQuality {
		t.Errorf("chat %v, code %v, maths %v, source %s; want 0.7, more, less, quality", chat, code, maths, r.Source)
	}
	if !r.Learned[Maths.Index()] || r.Learned[Code.Index()] {
		t.Errorf("learned %v, want only maths", r.Learned)
	}
	for i, one := range append(r.Families[:], r.Overall) {
		if !(0 < one.Low && one.Low < one.Mean && one.Mean < one.High && one.High < 1) {
			t.Errorf("interval %d is %+v, want 0 < low < mean < high < 1", i, one)
		}
	}
}
