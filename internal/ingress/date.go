package ingress

import (
	"net/http"
	"sync/atomic"
	"time"
)

// date is the header Date, written anew once a second.
type date struct{ latest atomic.Pointer[stamp] }

type stamp struct {
	second int64
	text   string
}

func (d *date) text(now time.Time) string {
	if s := d.latest.Load(); s != nil && s.second == now.Unix() {
		return s.text
	}
	s := &stamp{now.Unix(), now.UTC().Format(http.TimeFormat)}
	d.latest.Store(s)
	return s.text
}
