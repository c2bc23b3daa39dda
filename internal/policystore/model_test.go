package policystore

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestVersionsMatchModel makes two replicas save, roll back and reload in random order and compares the result with a list.
func TestVersionsMatchModel(t *testing.T) {
	t.Parallel()
	texts := []string{pinning("small"), pinning("large"), "policies: []\n"}
	effects := map[string]string{texts[0]: "pin small", texts[1]: "pin large", texts[2]: ""}
	rapid.Check(t, func(rt *rapid.T) {
		storage := newMemoryStorage()
		replicas := []*Store{newTestStore(storage), newTestStore(storage)}
		seen := make([]string, len(replicas)) // active policies of each replica
		var list []string                     // texts, oldest first
		newest := func() string {
			if len(list) == 0 {
				return texts[2]
			}
			return list[len(list)-1]
		}
		for i := range seen {
			seen[i] = texts[2]
		}
		// saved records a saved document, unless it is already active.
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
				v, problems, err := replicas[i].Save(t.Context(), "ws_1", text, basedOn, "", "acc_1")
				switch {
				case len(problems) > 0:
					rt.Fatal(problems)
				case basedOn != int64(len(list)):
					if !errors.Is(err, ErrConflict) {
						rt.Fatalf("Save based on version %d of %d: %v, want ErrConflict", basedOn, len(list), err)
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
				v, _, err := replicas[i].Rollback(t.Context(), "ws_1", int64(number), "acc_1")
				switch {
				case number > len(list):
					if !errors.Is(err, ErrNotFound) {
						rt.Fatalf("Rollback to version %d of %d: %v, want ErrNotFound", number, len(list), err)
					}
				case err != nil:
					rt.Fatal(err)
				default:
					saved(rt, i, list[number-1], v)
				}
			},
			"reload": func(rt *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(rt, "replica")
				reload(t, replicas[i])
				seen[i] = newest()
			},
			"change the instance": func(rt *rapid.T) {
				replicas[rapid.IntRange(0, 1).Draw(rt, "replica")].SetInstance(nil, defaultInventory())
			},
			"": func(rt *rapid.T) {
				for i, b := range replicas {
					if got := activeIn(b, "ws_1"); got != effects[seen[i]] {
						rt.Fatalf("active at replica %d: %q, want %q", i, got, effects[seen[i]])
					}
				}
				var sources []string
				for n := range list {
					v, err := replicas[0].Version(t.Context(), "ws_1", int64(n+1))
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
