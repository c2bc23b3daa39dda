package telemetry

import (
	"log/slog"
	"strconv"
	"sync"
	"time"

	"fairlead/internal/money"
	"fairlead/internal/requestlog"
)

// jsonHandler is slog's, and knows where its lines go: that of a request is written without it, for a fraction of the cost. One
// with attributes or a group is slog's own again.
type jsonHandler struct {
	slog.Handler
	lines *lineWriter
}

// jsonLines are used again by one entry after the other.
var jsonLines = sync.Pool{New: func() any { return &jsonLine{} }}

// writeEntry writes the line of an entry as slog would.
func (l *lineWriter) writeEntry(e *requestlog.Entry) {
	j := jsonLines.Get().(*jsonLine)
	defer jsonLines.Put(j)
	j.out = append(j.out[:0], `{"time":"`...)
	j.out = time.Now().AppendFormat(j.out, time.RFC3339Nano)
	j.out = append(j.out, `","level":"INFO","msg":"`+entryMessage+`"`...)
	describe(j, e)
	j.out = append(j.out, "}\n"...)
	_, _ = l.Write(j.out) // there is nobody to tell, as with every other line
}

// jsonLine is a line under way. What JSON or a terminal cannot take besides quotes is the line writer's matter.
type jsonLine struct{ out []byte }

func (j *jsonLine) name(name string) {
	j.out = append(j.out, `,"`...)
	j.out = append(j.out, name...)
	j.out = append(j.out, `":`...)
}

func (j *jsonLine) text(name, value string) {
	if value == "" {
		return
	}
	j.name(name)
	j.out = append(j.out, '"')
	value = short(value)
	for i := range len(value) {
		if c := value[i]; c == '"' || c == '\\' {
			j.out = append(j.out, '\\')
		}
		j.out = append(j.out, value[i])
	}
	j.out = append(j.out, '"')
}

func (j *jsonLine) number(name string, n int64) {
	j.name(name)
	j.out = strconv.AppendInt(j.out, n, 10)
}

func (j *jsonLine) decimal(name string, f float64) {
	j.name(name)
	j.out = strconv.AppendFloat(j.out, f, 'f', -1, 64)
}

func (j *jsonLine) truth(name string, b bool) {
	j.name(name)
	j.out = strconv.AppendBool(j.out, b)
}

func (j *jsonLine) amount(name string, a *money.Amount) {
	if a == nil {
		return
	}
	j.name(name)
	j.out = append(j.out, '"')
	j.out, _ = a.AppendText(j.out) // never fails
	j.out = append(j.out, '"')
}
