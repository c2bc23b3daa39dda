package outline

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/outline/outlinetest"
)

func newScope(t testing.TB, name string) Scope {
	t.Helper()
	key, err := NewKey(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	return key.Scope(name)
}

func none(Address) bool { return false }

// fakeStore stores parts as a database would.
type fakeStore struct {
	parts map[Address][]byte
	bytes int
}

func (s *fakeStore) has(a Address) bool {
	_, ok := s.parts[a]
	return ok
}

func (s *fakeStore) add(t testing.TB, block []byte) {
	t.Helper()
	if err := EachPart(block, func(p Part) error {
		if s.has(p.Address) {
			t.Errorf("the block contains part %x, which is already stored", p.Address)
		}
		s.parts[p.Address] = bytes.Clone(p.Content)
		s.bytes += len(p.Content)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *fakeStore) find(a Address) ([]byte, bool) {
	content, ok := s.parts[a]
	return content, ok
}

func TestTurnsAreJoinedExactlyAndShareTheirParts(t *testing.T) {
	if testing.Short() {
		t.Skip("long computation: tested without the race detector")
	}
	t.Parallel()
	for _, format := range outlinetest.Formats() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			scope, stored := newScope(t, "ws"), &fakeStore{parts: map[Address][]byte{}}
			turns := outlinetest.Session{Format: format, Turns: 200, Growth: 3000, Seed: 7, Marks: true}.Make()
			outlines := make([][]byte, len(turns))
			for i, turn := range turns {
				before := stored.bytes
				outline, block, ok := scope.Split(turn.Body, nil, stored.has)
				if !ok {
					t.Fatalf("turn %d was not split", i)
				}
				stored.add(t, block)
				outlines[i] = outline
				added := stored.bytes - before + len(outline)
				if i > 0 && added > 2*turn.New+1500 {
					t.Errorf("turn %d of %d bytes adds %d bytes (outline %d) for %d new bytes",
						i, len(turn.Body), added, len(outline), turn.New)
				}
			}
			for i, turn := range turns {
				body, gone, err := Join(outlines[i], stored.find)
				if err != nil || gone != 0 || !bytes.Equal(body, turn.Body) {
					t.Fatalf("turn %d: %d parts missing, %v", i, gone, err)
				}
			}
			last := len(turns) - 1
			t.Logf("last body %d bytes, outline %d, all parts %d", len(turns[last].Body), len(outlines[last]), stored.bytes)
		})
	}
}

func TestAnyJSONObjectIsJoinedExactly(t *testing.T) {
	t.Parallel()
	scope := newScope(t, "ws")
	text := rapid.StringN(0, 900, -1)
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) *rapid.Generator[any]
		value = func(depth int) *rapid.Generator[any] {
			if depth > 3 {
				return rapid.Map(text, func(s string) any { return s })
			}
			return rapid.OneOf(
				rapid.Map(text, func(s string) any { return s }),
				rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
				rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value(depth + 1) }), 0, 8), func(l []any) any { return l }),
				rapid.Map(rapid.MapOfN(text, rapid.Deferred(func() *rapid.Generator[any] { return value(depth + 1) }), 0, 5), func(m map[string]any) any { return m }),
			)
		}
		body, err := json.Marshal(rapid.MapOfN(rapid.SampledFrom([]string{"messages", "input", "tools", "system", "x"}), value(0), 1, 5).Draw(t, "body"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indented") {
			var b bytes.Buffer
			_ = json.Indent(&b, body, " ", "\t")
			body = b.Bytes()
		}
		outline, block, ok := scope.Split(body, nil, none)
		if !ok {
			return
		}
		joined, gone, err := JoinCarried(outline, block)
		if err != nil || gone != 0 || !bytes.Equal(joined, body) {
			t.Fatalf("%d parts missing, %v:\n%s\n%s", gone, err, body, joined)
		}
		if missing, err := Missing(outline, block); err != nil || len(missing) > 0 {
			t.Fatalf("Missing returned %d parts, %v; want none", len(missing), err)
		}
	})
}

func TestInvalidAndShortBodiesAreNotSplit(t *testing.T) {
	t.Parallel()
	scope, long := newScope(t, "ws"), string(bytes.Repeat([]byte("x"), 3000))
	for _, body := range []string{
		"", `{"messages":[]}`, long, `"` + long + `"`, `[1,"` + long + `"]`, `{"a":"` + long + `"`, `{"a":"` + long + `","messages":[{]}`,
	} {
		if _, _, ok := scope.Split([]byte(body), nil, none); ok {
			t.Errorf("%.40q was split", body)
		}
	}
}

func TestAddressesDifferBetweenScopesAndKinds(t *testing.T) {
	t.Parallel()
	text := []byte(`{"role":"user"}`)
	one, other := newScope(t, "ws_a"), newScope(t, "ws_b")
	addresses := map[Address]bool{one.address(Run, text): true, other.address(Run, text): true, one.address(List, text): true, one.address(Run, text[1:]): true}
	if len(addresses) != 4 {
		t.Errorf("%d different addresses, want 4", len(addresses))
	}
	if one.address(Run, text) != newScope(t, "ws_a").address(Run, text) {
		t.Error("equal text in an equal scope has different addresses")
	}
}

func TestMissingPartsAreMarked(t *testing.T) {
	t.Parallel()
	scope := newScope(t, "ws")
	turn := outlinetest.Session{Format: "messages", Turns: 3, Growth: 4000, Seed: 3}.Make()[2]
	outline, block, _ := scope.Split(turn.Body, nil, none)
	total := 0
	_ = EachPart(block, func(p Part) error {
		total++
		lost := p.Address
		parts := map[Address][]byte{}
		_ = EachPart(block, func(p Part) error {
			if p.Address != lost {
				parts[p.Address] = p.Content
			}
			return nil
		})
		body, gone, err := Join(outline, func(a Address) ([]byte, bool) { c, ok := parts[a]; return c, ok })
		if err != nil || gone != 1 || !bytes.Contains(body, []byte(Gone)) {
			t.Errorf("%d parts missing, %v; want 1 and its mark in the body", gone, err)
		}
		if p.Kind == String && !json.Valid(body) {
			t.Errorf("the body with a missing string is invalid JSON: %s", body)
		}
		return nil
	})
	if total < 20 {
		t.Errorf("%d parts, want at least 20", total)
	}
	for _, corrupt := range [][]byte{{0xff}, {0x41, 'x'}, {1, 2, 3}, outline[:len(outline)-40]} {
		if _, _, err := Join(corrupt, func(Address) ([]byte, bool) { return nil, true }); err == nil {
			t.Errorf("Join of the corrupt outline %x succeeded, want an error", corrupt)
		}
	}
}

func TestKnownDropsUnusedParts(t *testing.T) {
	t.Parallel()
	known := NewKnown()
	known.limit = 10
	day := DayOf(time.Date(2026, 11, 17, 23, 59, 0, 0, time.UTC))
	add := func(n byte) {
		known.Add(day, AppendPart(nil, Part{Address: Address{n}, Kind: Run, Content: []byte("x")}))
	}
	for n := range byte(40) {
		add(n)
		if today, tomorrow := known.Of(day)(Address{0}), known.Of(day+1)(Address{0}); !today || tomorrow {
			t.Fatalf("after %d parts, the used part is known today %t, tomorrow %t; want true, false", n, today, tomorrow)
		}
	}
	if oldest, newest := known.Of(day)(Address{1}), known.Of(day)(Address{39}); oldest || !newest {
		t.Errorf("oldest part known %t, newest %t; want false, true", oldest, newest)
	}
	resume := known.Pause()
	add(50)
	if before, during := known.Of(day)(Address{39}), known.Of(day)(Address{50}); before || during {
		t.Errorf("during a pause an earlier part is known %t, a new one %t; want false", before, during)
	}
	resume()
	add(51)
	if before, after := known.Of(day)(Address{39}), known.Of(day)(Address{51}); before || !after {
		t.Errorf("after a pause an earlier part is known %t, a new one %t; want false, true", before, after)
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, format := range outlinetest.Formats() {
		b.Run(format, func(b *testing.B) {
			turns := outlinetest.Session{Format: format, Turns: 40, Growth: 3500, Seed: 7}.Make()
			body := turns[39].Body
			scope, known := newScope(b, "ws"), NewKnown()
			_, block, _ := scope.Split(body, nil, none)
			known.Add(1, block)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				scope.Split(body, nil, known.Of(1))
			}
		})
	}
}
