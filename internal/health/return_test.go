package health

import (
	"cmp"
	"container/heap"
	"slices"
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
)

// A provider that has recovered gets its traffic back within half a minute, regardless of how it responded around the outage.
func TestTrafficReturnsAfterAnOutage(t *testing.T) {
	t.Parallel()
	const before, outage = 5 * time.Second, 20 * time.Second
	const quick = 50 * time.Millisecond
	steady := func(takes time.Duration) func(time.Duration) time.Duration {
		return func(time.Duration) time.Duration { return takes }
	}
	slow := func(from, to, takes time.Duration) func(time.Duration) time.Duration {
		return func(begun time.Duration) time.Duration {
			if begun > from && begun < to {
				return takes
			}
			return quick
		}
	}
	for _, test := range []struct {
		name   string
		outage time.Duration
		takes  func(begun time.Duration) time.Duration // response time of the provider with the outage
		long   int                                     // number of responses that take a second, started every second until recovery
		hangs  bool                                    // whether calls hang until recovery instead of failing
		answer time.Duration                           // response time of the other provider; default 50 ms
	}{
		{name: "short answers", takes: steady(quick)},
		{name: "long answers that end when it is broken", takes: steady(quick), long: 40},
		{name: "slow before it breaks", takes: slow(before-2*time.Second, before, time.Second)},
		{name: "slow at first when it is back", takes: slow(before, before+outage+12*time.Second, 4*time.Second)},
		{name: "silent through the outage", takes: steady(quick), hangs: true},
		{name: "outage outlasts the stored speeds", outage: 15 * time.Minute, takes: steady(15 * time.Millisecond), answer: 15 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.outage > 0 && testing.Short() {
				t.Skip("long computation: tested without the race detector")
			}
			t.Parallel()
			const rate = 100
			down := max(test.outage, outage)
			w := newSimulation(t, before, before+down)
			w.takes["alpha"], w.hangs = test.takes, test.hangs
			w.takes["beta"] = steady(cmp.Or(test.answer, quick))
			w.run(before+down+40*time.Second, rate, test.long)

			at := slices.IndexFunc(w.calls, func(d time.Duration) bool { return d >= w.well })
			if at < 0 || w.calls[at]-w.well > 6*time.Second {
				t.Fatalf("alpha was not tried within 6 s of its recovery: %d calls", len(w.calls))
			}
			back := w.calls[at]
			if n := w.between(back, back+time.Second); n > (rate+test.long)/10+2 {
				t.Errorf("%d calls in the first second, want at most %d", n, (rate+test.long)/10+2)
			}
			if n := w.between(back+30*time.Second, back+31*time.Second); n < rate*9/10 {
				t.Errorf("half a minute after the recovery alpha gets %d of %d requests a second; state of alpha %+v, of beta %+v",
					n, rate, w.tracker.State("alpha/plain"), w.tracker.State("beta/plain"))
			}
		})
	}
}

// simulation simulates two providers of one model with a tracker and a router. alpha costs half as much as beta. The clock advances
// from event to event.
type simulation struct {
	t           *testing.T
	breaks      time.Duration // start of alpha's outage; the field well is its end
	well        time.Duration
	hangs       bool
	takes       map[string]func(begun time.Duration) time.Duration
	now         time.Duration
	tracker     *Tracker
	snapshot    *route.Snapshot
	events      events
	planned     int
	calls       []time.Duration // times of calls to alpha
	unavailable int
}

func newSimulation(t *testing.T, breaks, well time.Duration) *simulation {
	t.Helper()
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	model := &catalog.Model{Name: "plain", Op: llm.Chat, Quality: 0.5, Context: 100_000}
	offer := func(name string, in, out money.Rate) *provider.Provider {
		price := &catalog.Price{Input: in, Output: out}
		return &provider.Provider{Name: name, Targets: []*provider.Target{{Provider: name, Model: model, Upstream: "plain", Price: price}}}
	}
	const cent = money.Rate(money.Dollar / 100)
	w := &simulation{t: t, breaks: breaks, well: well, takes: map[string]func(time.Duration) time.Duration{}}
	w.snapshot = route.NewSnapshot(cat, []*provider.Provider{offer("alpha", 40*cent, 160*cent), offer("beta", 80*cent, 320*cent)}, nil)
	start := time.Unix(1_700_000_000, 0)
	w.tracker = New(Options{Now: func() time.Time { return start.Add(w.now) }, Random: func() float64 { return 0.5 }})
	return w
}

// run sends evenly spaced requests with short responses, rate per second. Once per second until alpha has recovered, it also sends as many
// requests with long responses as the parameter long specifies.
func (w *simulation) run(until time.Duration, rate, long int) {
	for at := time.Duration(0); at < until; at += time.Second / time.Duration(rate) {
		w.at(at, func() { w.request(false) })
		if at%time.Second == time.Second/2 && at < w.well {
			for range long {
				w.at(at, func() { w.request(true) })
			}
		}
	}
	for len(w.events) > 0 {
		next, ok := heap.Pop(&w.events).(event)
		if !ok {
			w.t.Fatal("the queue holds a value that is not an event")
		}
		w.now = next.at
		next.do()
	}
	if w.unavailable > 0 {
		w.t.Errorf("%d requests found no target", w.unavailable)
	}
}

// request calls the targets of its plan until one admits it and responds.
func (w *simulation) request(long bool) {
	in := route.Input{Op: llm.Chat, Model: "plain", ResponseOptions: route.ResponseOptions{Choices: 1, Stream: true}, PromptSize: route.PromptSize{InputTokens: 10}}
	d, err := route.Decide(&in, w.snapshot, route.Conditions{State: w.tracker.State})
	if err != nil {
		w.unavailable++
		return
	}
	w.try(d.Plan, long)
}

func (w *simulation) try(plan []*provider.Target, long bool) {
	if len(plan) == 0 {
		w.unavailable++
		return
	}
	t := plan[0]
	pass, ok := w.tracker.Admit(t.ID(), nil, len(plan) == 1)
	if !ok {
		w.try(plan[1:], long)
		return
	}
	r := Report{Target: t.ID(), Probe: pass.Probe, Duration: w.takes[t.Provider](w.now), OutputTokens: 20}
	if long {
		r.Duration = time.Second
	}
	r.TTFT = r.Duration / 10
	if t.Provider == "alpha" {
		w.calls = append(w.calls, w.now)
		if w.now >= w.breaks && w.now < w.well {
			w.fail(r, plan, long)
			return
		}
	}
	w.at(w.now+r.Duration, func() { w.tracker.Report(r) })
}

// fail makes a call fail or time out. Some calls that time out still respond later.
func (w *simulation) fail(r Report, plan []*provider.Target, long bool) {
	answered := r
	r.Err, r.Duration, r.TTFT = llm.Errorf(llm.UpstreamServer, "no"), time.Millisecond, 0
	if w.hangs && len(w.calls)%2 == 0 {
		answered.Duration = w.well - w.now + time.Millisecond
		w.at(w.well+time.Millisecond, func() { w.tracker.Report(answered) })
		return
	}
	if w.hangs {
		r.Duration = time.Second
	}
	w.at(w.now+r.Duration, func() {
		w.tracker.Report(r)
		w.try(plan[1:], long)
	})
}

func (w *simulation) between(from, to time.Duration) (n int) {
	for _, at := range w.calls {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func (w *simulation) at(at time.Duration, do func()) {
	w.planned++
	heap.Push(&w.events, event{at, w.planned, do})
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
