package redact

import "strings"

// ibanLengths lists each country that uses IBANs, followed by the length of its IBANs.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 " +
	"FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 " +
	"LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SD18 " +
	"SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"

// findIBANs finds IBANs. It checks the text at each pair of letters that is followed by two digits.
func findIBANs(s string, found func(start, end int)) {
	for i := 0; i+4 < len(s); i++ {
		if !isDigit(s[i+2]) || !isDigit(s[i+3]) || !isLetter(s[i]) || !isLetter(s[i+1]) || isWord(before(s, i)) {
			continue
		}
		if end := ibanEnd(s, i); end > 0 {
			found(i, end)
			i = end - 1
		}
	}
}

// ibanEnd returns the end of the number that starts at start, or 0 if its check digits are wrong. Single spaces
// between characters are skipped.
func ibanEnd(s string, start int) int {
	want := 0
	if at := strings.Index(ibanLengths, strings.ToUpper(s[start:start+2])); at >= 0 {
		want = int(ibanLengths[at+2]-'0')*10 + int(ibanLengths[at+3]-'0')
	}
	compact := make([]byte, 0, 34)
	i := start
	for ; i < len(s) && len(compact) < want; i++ {
		switch {
		case isAlnum(s[i]):
			compact = append(compact, s[i])
		case s[i] == ' ' && isAlnum(after(s, i+1)):
		default:
			return 0
		}
	}
	if len(compact) < want || want == 0 || isWord(after(s, i)) || !checkDigits(compact) {
		return 0
	}
	return i
}

// checkDigits verifies the IBAN modulo 97: the first four characters are moved to the end, and letters count from 10.
func checkDigits(compact []byte) bool {
	rest := 0
	for i := range compact {
		c := compact[(i+4)%len(compact)]
		switch {
		case isDigit(c):
			rest = (rest*10 + int(c-'0')) % 97
		case isUpper(c):
			rest = (rest*100 + int(c-'A') + 10) % 97
		default:
			rest = (rest*100 + int(c-'a') + 10) % 97
		}
	}
	return rest == 1
}
