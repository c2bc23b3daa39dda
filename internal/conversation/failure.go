package conversation

import (
	"strings"
)

// failureStarts begin the text of a failing result.
var failureStarts = []string{
	"error", "fatal", "traceback", "exception", "panic", "failed", "failure", "fail:", "npm err", "err:", "err!", "e: ", "<tool_use_error", "<error", "inputvalidationerror", "invalid", "could not", "couldn't", "cannot",
	"can't", "unable to", "permission denied", "access denied", "command failed", "command not found", "timed out", "timeout", "no such file", "not found", "unknown command", "unrecognized", "unauthorized", "forbidden",
	"fehler", "erreur", "errore", "erro:", "error:", "ошибка", "错误", "失败", "エラー", "오류", "خطأ", "hata:", "błąd",
}

// failureMarks are signs of failure anywhere in the part of a result that is read.
var failureMarks = []string{
	"traceback (most recent call last)", "error: ", "error:\n", "error[", "[error]", "fatal: ", "panic: ", "assertionerror", "syntaxerror", "typeerror", "valueerror", "keyerror", "nameerror", "indexerror", "attributeerror",
	"modulenotfounderror", "importerror", "runtimeerror", "exception in thread", "unhandled exception", "command not found", "no such file or directory", "permission denied", "segmentation fault",
	"build failed", "compilation failed", "tests failed", "test failures", "--- fail", "fail\t", "npm err!", "error ts", "undefined reference", "core dumped", "is not recognized as",
	`"error":"`, `"error": "`, `"iserror":true`, `"iserror": true`, `"is_error":true`, `"is_error": true`, `"success":false`, `"success": false`, `"status":"error"`, `"status": "error"`, `"ok":false`, `"ok": false`,
}

// weakMarks are signs of failure in a short result.
var weakMarks = []string{
	"error", "exception", "failed", "failure", "not found", "invalid", "denied", "cannot", "can't", "could not", "timed out", "refused", "unable to", "doesn't exist", "does not exist", "too many requests", "forbidden",
	"not permitted", "not allowed", "no match", "don't understand", "is wrong", "stopped",
}

// passMarks are signs that a check succeeded. They end the trouble of the task.
var passMarks = []string{
	"all tests passed", "all checks passed", "tests passed", "test passed", "checks passed", "all passed", "build succeeded", "build successful", "compiled successfully", "0 failed", "0 failures", "no errors", "0 errors",
	"build success", "ok\t",
}

// exitLabels precede the exit code of a command.
var exitLabels = []string{"exit code: ", "exit code ", "exit_code\":", "exit status ", "exit_code: ", "exitcode: ", "exit code=", "exited with code ", "return code: "}

// countedBefore follow a number of failures, countedAfter precede one: "3 failed", "Failures: 7".
var (
	countedBefore = []string{" failed", " failing", " failure", " error"}
	countedAfter  = []string{"failures: ", "failed: ", "errors: ", "not ok "}
	passesBefore  = []string{" passed"}
)

// resultMarks holds the lists above, in the order of resultLists.
var resultMarks = newPhraseSet(resultLists...)

var resultLists = [][]string{failureMarks, weakMarks, passMarks, exitLabels, countedBefore, countedAfter, passesBefore}

// verdict is what a result of a tool says about its call.
type verdict struct {
	failed, weak, passed, counted bool // signs of failure; of failure in a short result; of success; a number of failures
	exit                          byte // first digit of the exit code
}

// add adds the phrase of a list at an offset of the text.
func (v *verdict) add(list int, text string, at, length int) {
	switch list {
	case 0:
		v.failed = true
	case 1:
		v.weak = true
	case 2:
		v.passed = true
	case 3:
		if digits := strings.TrimLeft(text[at+length:], " "); v.exit == 0 && digits != "" && isDigit(digits[0]) {
			v.exit = digits[0]
		}
	case 4:
		v.counted = v.counted || at > 0 && isDigit(text[at-1]) && (text[at-1] != '0' || at > 1 && isDigit(text[at-2]))
	case 5:
		next := at + length
		v.counted = v.counted || next < len(text) && isDigit(text[next]) && text[next] != '0'
	case 6:
		v.passed = v.passed || at > 0 && isDigit(text[at-1])
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// judge reports whether a result of a tool says that the call failed, and whether it says that a check succeeded.
func judge(text string) (failed, passed bool) {
	text = head(strings.TrimSpace(text), resultHead)
	var v verdict
	resultMarks.each(text, func(list, _, at, length int) bool {
		v.add(list, text, at, length)
		return true
	})
	switch {
	case v.counted || v.exit > '0':
		return true, false
	case v.passed || v.exit == '0':
		return false, v.passed
	}
	return v.failed || startsLikeFailure(text) || httpError(text) || v.weak && len(text) <= resultWhole, false
}

// startsLikeFailure reports whether a result begins like an error message.
func startsLikeFailure(text string) bool {
	for _, start := range failureStarts {
		if hasFolded(text, start) {
			return true
		}
	}
	return false
}

// httpError reports whether a result begins with an HTTP status of an error.
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
