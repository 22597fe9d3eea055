package sm

import (
	"fmt"
	"strings"
)

// token is a piece of text and the line it is in.
type token struct {
	s    string
	line int
}

type partParser struct {
	file PartitionFile
	errs []error
}

func (p *partParser) errorf(line int, format string, args ...any) {
	if len(p.errs) < 20 {
		p.errs = append(p.errs, &PartitionError{line, fmt.Sprintf(format, args...)})
	}
}

// rules cuts the text at semicolons and each rule into words; ':' between
// definition and members, ',' and '=' are words of their own.
func (p *partParser) rules(text string) (rules [][]token) {
	var rule []token
	for i, l := range strings.Split(text, "\n") {
		l, _, _ = strings.Cut(l, "#")
		colon := false
		for _, t := range rule {
			colon = colon || t.s == ":"
		}
		word := func(s string) {
			if s = strings.TrimSpace(s); s != "" {
				rule = append(rule, token{s, i + 1})
			}
		}
		from := 0
		for k := 0; k < len(l); k++ {
			switch c := l[k]; {
			case c == ';':
				word(l[from:k])
				if len(rule) > 0 {
					rules = append(rules, rule)
				}
				rule, colon, from = nil, false, k+1
			case c == ':' && colon && afterMGID(rule): // inside of a GID
			case c == ':' || c == ',' || c == '=' || c == ' ' || c == '\t' || c == '\r':
				word(l[from:k])
				colon = colon || c == ':'
				word(string(c))
				from = k + 1
			}
		}
		word(l[from:])
	}
	if len(rule) > 0 {
		p.errorf(rule[0].line, "the rule has no ';' at its end")
	}
	return rules
}

// afterMGID tells whether the next word is the value of mgid=.
func afterMGID(rule []token) bool {
	n := len(rule)
	return n > 1 && rule[n-1].s == "=" && strings.EqualFold(rule[n-2].s, "mgid")
}
