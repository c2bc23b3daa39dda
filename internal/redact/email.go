package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	longestLocal  = 64 // maximum number of bytes before the @
	longestDomain = 255
)

// findEmails finds addresses around each @: a local part before it and a domain with a dot after it.
func findEmails(s string, found func(start, end int)) {
	last := 0
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '@')
		if i < 0 {
			return
		}
		i += from
		from = i + 1
		start, least := i, max(last, i-longestLocal)
		for start > least {
			r, size := utf8.DecodeLastRuneInString(s[least:start])
			if !inAddress(r) && !strings.ContainsRune("._%+'&=~#-", r) {
				break
			}
			start -= size
		}
		for start < i && strings.IndexByte(".'=&#", s[start]) >= 0 {
			start++
		}
		end := domainEnd(s, i+1)
		if start < i && end > i {
			found(start, end)
			from, last = end, end
		}
	}
}

// domainEnd returns the end of the domain that begins at index from, or 0 if there is none.
func domainEnd(s string, from int) int {
	end, label, dot := from, from, -1 // end of the domain, start of the last label, dot before it
	valid := 0
	for end < len(s) && end-from <= longestDomain {
		r, size := utf8.DecodeRuneInString(s[end:])
		if r == '.' {
			if end == label {
				break // two consecutive dots, or a leading dot
			}
			dot, label = end, end+1
			end++
			continue
		}
		if !inAddress(r) && (r != '-' || end == label) {
			break
		}
		end += size
		if dot > 0 && end-label >= 2 && !isDigit(s[label]) && r != '-' {
			valid = end
		}
	}
	return valid
}

// inAddress reports whether r is a letter or a digit. It excludes scripts that do not separate words with spaces,
// because the text around an address would be included.
func inAddress(r rune) bool {
	if r < utf8.RuneSelf {
		return isAlnum(byte(r))
	}
	return r != utf8.RuneError && r < 0x0E00 && unicode.IsLetter(r)
}
