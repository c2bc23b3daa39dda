package policystore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestVersionsAgreeWithAPlainList lets two replicas save, roll back and reload in any order.
func TestVersionsAgreeWithAPlainList(t *testing.T) {
	t.Parallel()
	texts := []string{pinning("small"), pinning("large"), "policies: []\n"}
	effects := map[string]string{texts[0]: "pin small", texts[1]: "pin large", texts[2]: ""}
	rapid.Check(t, func(rt *rapid.T) {
		shelf := newShelf()
		books := []*Store{newTestBook(shelf), newTestBook(shelf)}
		seen := make([]string, len(books)) // what each replica has in force
		var list []string                  // texts, oldest first
		newest := func() string {
			if len(list) == 0 {
				return texts[2]
			}
			return list[len(list)-1]
		}
		for i := range seen {
			seen[i] = texts[2]
		}
		// saved notes a text that was saved, unless it is in force already.
		saved := func(rt *rapid.T, i int, text string, v Version) {
			if len(list) == 0 || newest() != text {
				list = append(list, text)
				seen[i] = text
			}
			if v.Number != int64(len(list)) || v.Source != text {
				rt.Fatalf("version %d with %q, want %d with %q", v.Number, v.Source, len(list), text)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"save": func(rt *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(rt, "replica")
				text := rapid.SampledFrom(texts).Draw(rt, "text")
				basedOn := int64(rapid.IntRange(max(0, len(list)-1), len(list)+1).Draw(rt, "based on"))
				v, problems, err := books[i].Save(t.Context(), "ws_1", text, basedOn, "", "acc_1")
				switch {
				case len(problems) > 0:
					rt.Fatal(problems)
				case basedOn != int64(len(list)):
					if !errors.Is(err, ErrConflict) {
						rt.Fatalf("based on %d of %d: %v", basedOn, len(list), err)
					}
				case err != nil:
					rt.Fatal(err)
				default:
					saved(rt, i, text, v)
				}
			},
			"roll back": func(rt *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(rt, "replica")
				number := rapid.IntRange(1, len(list)+1).Draw(rt, "to")
				v, _, err := books[i].Rollback(t.Context(), "ws_1", int64(number), "acc_1")
				switch {
				case number > len(list):
					if !errors.Is(err, ErrNotFound) {
						rt.Fatalf("back to %d of %d: %v", number, len(list), err)
					}
				case err != nil:
					rt.Fatal(err)
				default:
					saved(rt, i, list[number-1], v)
				}
			},
			"reload": func(rt *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(rt, "replica")
				reload(t, books[i])
				seen[i] = newest()
			},
			"change the instance": func(rt *rapid.T) {
				books[rapid.IntRange(0, 1).Draw(rt, "replica")].SetInstance(nil, usualWorld())
			},
			"": func(rt *rapid.T) {
				for i, b := range books {
					if got := inForce(b, "ws_1"); got != effects[seen[i]] {
						rt.Fatalf("replica %d has %q in force, want %q", i, got, effects[seen[i]])
					}
				}
				var sources []string
				for n := range list {
					v, err := books[0].Version(t.Context(), "ws_1", int64(n+1))
					if err != nil {
						rt.Fatal(err)
					}
					sources = append(sources, v.Source)
				}
				if diff := cmp.Diff(list, sources); diff != "" {
					rt.Fatal(diff)
				}
			},
		})
	})
}
