package limit

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// turnsEach is how many turns there are at a time for each processor.
	turnsEach = 2
	// roomEach is how many may wait for each processor in any case: a few who always have a request under way are no overload.
	roomEach = 64
	// standing is for how long somebody must have waited, one or another, before anybody is refused. What comes and goes faster
	// is a busy moment, which is over sooner if everybody waits for it.
	standing = 250 * time.Millisecond
	// remembered is how long an overload is thought to go on.
	remembered = 2 * time.Second
	// pollEvery is how long the network may go unseen while there is a line.
	pollEvery = 2 * time.Millisecond
	// stalled is when no turn has begun for so long. Refusing alone keeps the processors busy then, and for every few refusals
	// one of those who wait goes on at once.
	stalled      = 10 * time.Millisecond
	refusalsEach = 16
	// turnSpan is the time in which turns are counted, and keptRate what remains of a count after another span: the processors
	// may have been somebody else's in it.
	turnSpan = 100 * time.Millisecond
	keptRate = 0.9
)

// Turns lets requests onto the processors by turns, so that what is too much waits where it can be seen, and not inside the
// runtime, where it would hold up everything else. Ids take turns one after the other, however many requests each has
// waiting: somebody else's flood costs nobody more than a moment. When there is always somebody waiting, only as many may as
// have their turn soon, and the others are refused at once. Its methods may be called from any goroutine.
type Turns struct {
	bound   atomic.Int64 // how long one may wait under overload; 0 for no turns at all
	refused atomic.Int64 // when somebody was refused last, in Unix nanoseconds

	mu      sync.Mutex
	size    int
	poller  poller
	polled  time.Time     // when the poller had come round
	settled time.Time     // when a turn began in earnest
	round   chan struct{} // closed when it has again; nil while nobody waits for that
	taken   int
	waiting int
	owed    int       // refusals since somebody was let go on for them
	since   time.Time // since when somebody has been waiting, one or another
	lines   map[string][]chan<- bool
	ids     []string // with a line, in the order of their turns
	counted time.Time
	count   int     // turns since then
	rate    float64 // turns a second of late, at its best
}

// Configure sets how long a request may wait for its turn under overload; 0 for no turns at all.
func (t *Turns) Configure(bound time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size = turnsEach * runtime.GOMAXPROCS(0)
	t.bound.Store(int64(bound))
}

// Take waits for the turn of a request of id, or reports that there is no turn to wait for. A turn begins when whatever could run
// before has run, which is at once where no more requests are under way, this one among them, than there are processors. After it
// comes Give, without having waited for anything but a processor in between.
func (t *Turns) Take(id string, underWay int) bool {
	t.mu.Lock()
	if t.taken < t.size || t.bound.Load() == 0 {
		t.taken++
		t.count++
		few := underWay*turnsEach <= t.size
		t.mu.Unlock()
		if !few {
			t.settle()
		}
		return true
	}
	now := time.Now()
	if t.crowded(id, now) {
		t.refuse(now)
		t.mu.Unlock()
		return false
	}
	called := t.join(id)
	t.mu.Unlock()
	if hurry := <-called; !hurry {
		t.settle()
	}
	return true
}

// refuse notes that somebody was refused, and lets somebody else go on for every few of them.
func (t *Turns) refuse(now time.Time) {
	t.refused.Store(now.UnixNano())
	if t.owed++; t.owed >= refusalsEach && t.waiting > 0 && now.Sub(t.settled) > stalled {
		t.owed = 0
		t.call(true)
	}
}

// settle returns when whatever could run before has run. That is what the others wait for. While they do, the poller must come
// round every now and then, and for that nobody with a turn may go on meanwhile.
func (t *Turns) settle() {
	t.mu.Lock()
	now := time.Now()
	switch {
	case t.waiting == 0 || t.round == nil && now.Sub(t.polled) < pollEvery:
		t.mu.Unlock()
		runtime.Gosched()
		t.mu.Lock()
		t.settled = time.Now()
		t.mu.Unlock()
	case t.round != nil:
		round := t.round
		t.mu.Unlock()
		<-round
	default:
		round := make(chan struct{})
		t.round = round
		t.mu.Unlock()
		t.poller.comeRound()
		t.mu.Lock()
		t.round, t.polled = nil, time.Now()
		t.settled = t.polled
		t.mu.Unlock()
		close(round)
	}
}

// Give passes the turn on to whoever is next.
func (t *Turns) Give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken--
	for t.taken < t.size && t.waiting > 0 {
		t.call(false)
	}
}

// call gives the turn to whoever is next, who waits for the others to have run unless there is a hurry.
func (t *Turns) call(hurry bool) {
	t.taken++
	t.count++
	t.waiting--
	t.next() <- hurry
}

// Pressed reports whether requests are being refused, or were a moment ago.
func (t *Turns) Pressed() bool {
	last := t.refused.Load()
	return last != 0 && time.Since(time.Unix(0, last)) < remembered
}

// crowded reports whether there is an overload in which one more of id would wait too long: as many wait as have their turn
// within the bound, and id has its share of them.
func (t *Turns) crowded(id string, now time.Time) bool {
	if span := now.Sub(t.counted); span >= turnSpan {
		t.rate = max(float64(t.count)/span.Seconds(), keptRate*t.rate)
		t.counted, t.count = now, 0
	}
	if t.waiting == 0 {
		t.since = now
	}
	if now.Sub(t.since) < standing && !t.Pressed() {
		return false
	}
	room := max(t.rate*time.Duration(t.bound.Load()).Seconds(), roomEach/turnsEach*float64(t.size))
	return float64(t.waiting) >= room && float64(len(t.lines[id])*len(t.ids)) >= room
}

// join puts a request at the end of its id's line.
func (t *Turns) join(id string) <-chan bool {
	if t.lines == nil {
		t.lines = map[string][]chan<- bool{}
	}
	if len(t.lines[id]) == 0 {
		t.ids = append(t.ids, id)
	}
	called := make(chan bool, 1)
	t.lines[id] = append(t.lines[id], called)
	t.waiting++
	return called
}

// next is the first in the line of the id whose turn it is. Somebody waits.
func (t *Turns) next() chan<- bool {
	id := t.ids[0]
	line := t.lines[id]
	t.ids = t.ids[1:]
	if len(line) == 1 {
		delete(t.lines, id)
	} else {
		t.lines[id] = line[1:]
		t.ids = append(t.ids, id)
	}
	return line[0]
}
