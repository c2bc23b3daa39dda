package redact

import "regexp"

var (
	ssn = regexp.MustCompile(`\d{3}-\d{2}-\d{4}`)

	// Phone numbers in three forms: with a plus sign and a country code, in North American groups, and with the leading
	// zero of most other countries. Ungrouped numbers are excluded, because they are often not phone numbers.
	phone = regexp.MustCompile(`\+\d{1,3}(?:[ .-]?\(\d{1,4}\))?(?:[ ./-]?\d{1,5}){1,6}` +
		`|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}` +
		`|\(0\d{1,4}\)(?:[ /-]?\d{2,8}){1,4}` +
		`|0\d{1,5}[ /-]\d{2,8}(?:[ -]\d{2,8}){0,3}`)
)

const (
	fewestPhoneDigits = 8
	mostPhoneDigits   = 15
)

// findPhones finds phone numbers. It applies the pattern only to runs with enough digits.
func findPhones(s string, found func(start, end int)) {
	eachRun(s, sets.phone, func(start, end int) {
		if countDigits(s[start:end]) < fewestPhoneDigits {
			return
		}
		for _, at := range phone.FindAllStringIndex(s[start:end], -1) {
			from, to := start+at[0], start+at[1]
			n := countDigits(s[from:to])
			if n >= fewestPhoneDigits && n <= mostPhoneDigits && isIsolated(s, from, to) {
				found(from, to)
			}
		}
	})
}

// isIsolated reports whether the number is not part of a longer identifier or number.
func isIsolated(s string, start, end int) bool {
	b, a := before(s, start), after(s, end)
	if isWord(b) && b < 0x80 || isDigit(a) || isLetter(a) || a == '_' {
		return false
	}
	joinedBefore := (b == '-' || b == '.' || b == '/' || b == '+') && start > 1 && isAlnum(s[start-2])
	joinedAfter := (a == '-' || a == '.' || a == '/') && end+1 < len(s) && isAlnum(s[end+1])
	return !joinedBefore && !joinedAfter
}

// findSSNs finds US social security numbers. It excludes numbers that were never assigned.
func findSSNs(s string, found func(start, end int)) {
	eachRun(s, sets.number, func(start, end int) {
		if end-start < len("000-00-0000") {
			return
		}
		for _, at := range ssn.FindAllStringIndex(s[start:end], -1) {
			from, to := start+at[0], start+at[1]
			area, group, serial := s[from:from+3], s[from+4:from+6], s[from+7:to]
			if area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000" && isIsolated(s, from, to) {
				found(from, to)
			}
		}
	})
}

const (
	fewestCardDigits = 13
	mostCardDigits   = 19
)

// findCards checks for a card number at the start of each group of digits, longest number first.
func findCards(s string, found func(start, end int)) {
	eachRun(s, sets.number, func(start, end int) {
		for i := start; i < end; {
			if !isDigit(s[i]) || (i > start && isDigit(s[i-1])) {
				i++
				continue
			}
			if to := cardEnd(s, i, end); to > i {
				found(i, to)
				i = to
				continue
			}
			i++
		}
	})
}

// cardEnd returns the end of the longest card number that begins at start, or 0 if there is none. One space or dash may
// separate two groups. A number ends at the end of a group.
func cardEnd(s string, start, limit int) int {
	if b := before(s, start); (isWord(b) && b < 0x80) || s[start] < '2' || s[start] > '6' {
		return 0
	}
	var number [mostCardDigits]byte
	n, best := 0, 0
	for i := start; i < limit; i++ {
		if !isDigit(s[i]) {
			if i+1 >= limit || !isDigit(s[i+1]) {
				break
			}
			continue
		}
		if n == mostCardDigits {
			break
		}
		number[n] = s[i]
		n++
		next := after(s, i+1)
		if n >= fewestCardDigits && !isDigit(next) && !isLetter(next) && next != '_' && luhn(number[:n]) {
			best = i + 1
		}
	}
	return best
}

// luhn verifies the check digit of a card number.
func luhn(number []byte) bool {
	sum := 0
	for i, c := range number {
		d := int(c - '0')
		if (len(number)-i)%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}
