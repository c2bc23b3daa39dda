package redact

import "strings"

// vendorKey describes the format of a vendor's API keys: a prefix, a character set and a minimum length.
type vendorKey struct {
	prefix string
	set    *[256]bool
	least  int
}

// secretIndex indexes the secret formats by their first byte.
type secretIndex struct {
	keys  [256][]vendorKey
	start [256]bool // whether a byte can begin a secret or the word Bearer
}

// secrets holds the key formats of the vendors and the gateway.
var secrets = func() (index secretIndex) {
	for _, k := range []vendorKey{
		{"sk-", sets.name, 16},
		{"sk_live_", sets.plain, 16},
		{"sk_test_", sets.plain, 16},
		{"rk_live_", sets.plain, 16},
		{"ghp_", sets.plain, 30},
		{"gho_", sets.plain, 30},
		{"ghu_", sets.plain, 30},
		{"ghs_", sets.plain, 30},
		{"ghr_", sets.plain, 30},
		{"github_pat_", sets.name, 22},
		{"glpat-", sets.name, 20},
		{"xoxb-", sets.name, 10},
		{"xoxp-", sets.name, 10},
		{"xoxa-", sets.name, 10},
		{"xoxs-", sets.name, 10},
		{"xapp-", sets.name, 10},
		{"AKIA", sets.upper, 16},
		{"ASIA", sets.upper, 16},
		{"AIza", sets.name, 35},
		{"ya29.", sets.name, 20},
		{"hf_", sets.plain, 30},
		{"gsk_", sets.plain, 40},
		{"xai-", sets.name, 40},
		{"r8_", sets.plain, 37},
		{"pplx-", sets.plain, 40},
		{"npm_", sets.plain, 36},
		{"pypi-", sets.name, 40},
		{"SG.", sets.jwt, 40},
		{"dop_v1_", sets.plain, 40},
		{"shpat_", sets.plain, 32},
		{"fl_", sets.plain, 30},
		{"eyJ", sets.jwt, 30},
	} {
		first := k.prefix[0]
		index.keys[first], index.start[first] = append(index.keys[first], k), true
	}
	index.start['b'], index.start['B'] = true, true
	return index
}()

// findSecrets finds API keys and bearer tokens at the start of words, then private keys and passwords in URLs.
func findSecrets(s string, found func(start, end int)) {
	for i := 0; i < len(s); i++ {
		if !secrets.start[s[i]] || isWord(before(s, i)) {
			continue
		}
		if end := tokenEnd(s, i, secrets.keys[s[i]]); end > i {
			found(i, end)
			i = end - 1
		} else if start, end := bearerSpan(s, i); end > i {
			found(start, end)
			i = end - 1
		}
	}
	findPrivateKeys(s, found)
	findPasswords(s, found)
}

func tokenEnd(s string, start int, candidates []vendorKey) int {
	for _, t := range candidates {
		if !strings.HasPrefix(s[start:], t.prefix) {
			continue
		}
		body := start + len(t.prefix)
		end := spanEnd(s, body, t.set)
		if end-body < t.least || (t.prefix == "eyJ" && strings.Count(s[start:end], ".") < 2) {
			continue
		}
		return end
	}
	return 0
}

// spanEnd returns the end of a run of characters in the set. It excludes a final dot, which usually ends a sentence.
func spanEnd(s string, start int, set *[256]bool) int {
	end := start
	for end < len(s) && set[s[end]] {
		end++
	}
	for end > start && s[end-1] == '.' {
		end--
	}
	return end
}

const (
	bearer      = "bearer "
	leastBearer = 16
)

// bearerSpan returns the range of the token that follows the word Bearer (case-insensitive), or 0, 0 if there is none. The word itself is
// not redacted.
func bearerSpan(s string, word int) (start, end int) {
	start = word + len(bearer)
	if len(s) < start || !strings.EqualFold(s[word:start], bearer) {
		return 0, 0
	}
	for start < len(s) && s[start] == ' ' {
		start++
	}
	if end = spanEnd(s, start, sets.bearer); end-start < leastBearer {
		return 0, 0
	}
	return start, end
}

// findPrivateKeys finds PEM blocks. A truncated block extends to the end of the text.
func findPrivateKeys(s string, found func(start, end int)) {
	const begin, rest = "-----BEGIN ", "PRIVATE KEY-----"
	for from := 0; ; {
		i := strings.Index(s[from:], begin)
		if i < 0 {
			return
		}
		i += from
		from = i + len(begin)
		if head := s[from:min(len(s), from+len("ENCRYPTED ")+len(rest))]; !strings.Contains(head, rest) {
			continue // the block is a certificate or a public key
		}
		end := len(s)
		if last := strings.Index(s[from:], "-----END "); last >= 0 {
			last += from + len("-----END ")
			if line := strings.Index(s[last:], "-----"); line >= 0 {
				end = last + line + len("-----")
			}
		}
		found(i, end)
		from = end
	}
}

const longestUserInfo = 300

// findPasswords finds passwords in URLs such as postgres://user:password@host.
func findPasswords(s string, found func(start, end int)) {
	for from := 0; ; {
		i := strings.Index(s[from:], "://")
		if i < 0 {
			return
		}
		from += i + len("://")
		stop := min(len(s), from+longestUserInfo)
		host := strings.IndexAny(s[from:stop], "/?# \t\r\n\"'<>")
		if host >= 0 {
			stop = from + host
		}
		at := strings.LastIndexByte(s[from:stop], '@')
		if at < 0 {
			continue
		}
		if colon := strings.IndexByte(s[from:from+at], ':'); colon >= 0 && colon+1 < at {
			found(from+colon+1, from+at)
		}
	}
}
