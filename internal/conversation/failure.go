package conversation

import "strings"

// Indexes of the lists in resultMarks.
const (
	failureStart = iota // phrases at the beginning of a failing result
	failureMark         // phrases that indicate a failure anywhere in the part of a result that is read
	weakMark            // phrases that indicate a failure only in a short result
	passMark            // phrases that indicate that a check succeeded; the task then does not count as stuck
	exitLabel           // phrases before the exit code of a command
	countBefore         // phrases after a number of failures: "3 failed"
	countAfter          // phrases before a number of failures: "Failures: 7"
	passesBefore        // phrases after a number of successes: "12 passed"
)

// resultMarks are phrases in tool results that indicate failure or success.
var resultMarks = newPhraseSet([][]string{
	failureStart: {
		"error", "fatal", "traceback", "exception", "panic", "failed", "failure", "fail:", "npm err", "err:", "err!", "e: ", "<tool_use_error", "<error", "inputvalidationerror", "invalid", "could not", "couldn't", "cannot",
		"can't", "unable to", "permission denied", "access denied", "command failed", "command not found", "timed out", "timeout", "no such file", "not found", "unknown command", "unrecognized", "unauthorized", "forbidden",
		"fehler", "erreur", "errore", "erro:", "error:", "ошибка", "错误", "失败", "エラー", "오류", "خطأ", "hata:", "błąd",
	},
	failureMark: {
		"traceback (most recent call last)", "error: ", "error:\n", "error[", "[error]", "fatal: ", "panic: ", "assertionerror", "syntaxerror", "typeerror", "valueerror", "keyerror", "nameerror", "indexerror", "attributeerror",
		"modulenotfounderror", "importerror", "runtimeerror", "exception in thread", "unhandled exception", "command not found", "no such file or directory", "permission denied", "segmentation fault",
		"build failed", "compilation failed", "tests failed", "test failures", "--- fail", "fail\t", "npm err!", "error ts", "undefined reference", "core dumped", "is not recognized as",
		`"error":"`, `"error": "`, `"iserror":true`, `"iserror": true`, `"is_error":true`, `"is_error": true`, `"success":false`, `"success": false`, `"status":"error"`, `"status": "error"`, `"ok":false`, `"ok": false`,
	},
	weakMark: {
		"error", "exception", "failed", "failure", "not found", "invalid", "denied", "cannot", "can't", "could not", "timed out", "refused", "unable to", "doesn't exist", "does not exist", "too many requests", "forbidden",
		"not permitted", "not allowed", "no match", "don't understand", "is wrong", "stopped",
	},
	passMark: {
		"all tests passed", "all checks passed", "tests passed", "test passed", "checks passed", "all passed", "build succeeded", "build successful", "compiled successfully", "0 failed", "0 failures", "no errors", "0 errors",
		"build success", "ok\t",
	},
	exitLabel:    {"exit code: ", "exit code ", "exit_code\":", "exit status ", "exit_code: ", "exitcode: ", "exit code=", "exited with code ", "return code: "},
	countBefore:  {" failed", " failing", " failure", " error"},
	countAfter:   {"failures: ", "failed: ", "errors: ", "not ok "},
	passesBefore: {" passed"},
})

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// judge reports whether a tool result indicates that the call failed, and whether it indicates that a check succeeded.
func judge(text string) (failed, passed bool) {
	text = head(strings.TrimSpace(text), resultHead)
	var (
		weak, counted bool // whether there are signs of failure in a short result, and whether there is a number of failures
		exit          byte // first digit of the exit code
	)
	resultMarks.each(text, func(list, _, at, length int) bool {
		next := at + length
		switch list {
		case failureStart:
			failed = failed || at == 0
		case failureMark:
			failed = true
		case weakMark:
			weak = true
		case passMark:
			passed = true
		case exitLabel:
			if digits := strings.TrimLeft(text[next:], " "); exit == 0 && digits != "" && isDigit(digits[0]) {
				exit = digits[0]
			}
		case countBefore:
			counted = counted || at > 0 && isDigit(text[at-1]) && (text[at-1] != '0' || at > 1 && isDigit(text[at-2]))
		case countAfter:
			counted = counted || next < len(text) && isDigit(text[next]) && text[next] != '0'
		case passesBefore:
			passed = passed || at > 0 && isDigit(text[at-1])
		}
		return true
	})
	switch {
	case counted || exit > '0':
		return true, false
	case passed || exit == '0':
		return false, passed
	}
	return failed || httpError(text) || weak && len(text) <= resultWhole, false
}

// httpError reports whether a result begins with an HTTP error status.
func httpError(text string) bool {
	start := strings.ToLower(head(text, 80))
	for _, label := range []string{"http", "status"} {
		_, rest, found := strings.Cut(start, label)
		for found && rest != "" {
			digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
			if digits == 3 {
				return rest[0] == '4' || rest[0] == '5'
			}
			rest = rest[max(digits, 1):]
		}
	}
	return false
}
