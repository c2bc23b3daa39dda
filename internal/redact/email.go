package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	longestLocal  = 64 // bytes before the @
	longestDomain = 255
)

// findEmails looks at what is around each @: a name before it, and a domain with a dot after it.
func findEmails(s string, found func(start, end int)) {
	last := 0
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '@')
		if i < 0 {
			return
		}
		i += from
		from = i + 1
		start := localStart(s, max(last, i-longestLocal), i)
		end := domainEnd(s, i+1)
		if start < i && end > i {
			found(start, end)
			from, last = end, end
		}
	}
}

// localStart goes back from the @ over what may stand in the name of a mailbox.
func localStart(s string, least, at int) int {
	start := at
	for start > least {
		r, size := utf8.DecodeLastRuneInString(s[least:start])
		if !inAddress(r) && !strings.ContainsRune("._%+'&=~#-", r) {
			break
		}
		start -= size
	}
	for start < at && strings.IndexByte(".'=&#", s[start]) >= 0 {
		start++
	}
	return start
}

// domainEnd goes forward over the labels of a domain; it returns 0 when that is none.
func domainEnd(s string, from int) int {
	end, label, dot := from, from, -1 // of the last label: where it begins, and the dot before it
	valid := 0
	for end < len(s) && end-from <= longestDomain {
		r, size := utf8.DecodeRuneInString(s[end:])
		if r == '.' {
			if end == label {
				break // two dots, or a dot first
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

// inAddress reports letters and digits. Scripts that put no spaces between words are left out: there the text around an
// address would be taken for a part of it.
func inAddress(r rune) bool {
	if r < utf8.RuneSelf {
		return isAlnum(byte(r))
	}
	return r != utf8.RuneError && r < 0x0E00 && unicode.IsLetter(r)
}
