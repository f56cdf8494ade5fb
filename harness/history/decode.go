package history

// parsePlain reads a line in the very form in which appendEvent writes operations,
// commands and notes, which make up nearly all of a history, at a fraction of what
// encoding/json costs. It makes nothing of any other line, of one with an escape in
// it, say: that is encoding/json's to read, or to find fault with. Whatever it reads,
// encoding/json reads alike. It does not validate.
func parsePlain(line []byte) (Event, bool) {
	var e Event
	p := plain{rest: line}
	p.require(`{"time":`)
	e.Time = p.number()
	p.require(`,"process":`)
	e.Process = p.text()
	p.require(`,"type":`)
	e.Type = oneAmong(types, p.quoted())
	p.operation(&e)
	if p.is(`,"command":`) {
		e.Command = p.command()
	}
	p.textIn(`,"text":`, &e.Text)
	p.require(`}`)
	p.is("\n")
	return e, !p.failed && len(p.rest) == 0
}

// plain reads a line from its left.
type plain struct {
	rest   []byte
	failed bool // the line is not in the form
}

// operation reads what appendOperation appends.
func (p *plain) operation(e *Event) {
	if p.is(`,"op":`) {
		e.Op = oneAmong(ops, p.quoted())
	}
	p.intIn(`,"id":`, &e.ID)
	p.intIn(`,"lease":`, &e.Lease)
	p.textIn(`,"key":`, &e.Key)
	p.textIn(`,"token":`, &e.Token)
	p.numberIn(`,"fence":`, &e.Fence)
	p.numberIn(`,"validity":`, &e.Validity)
	e.Wall = p.is(`,"wall":true`)
	p.textIn(`,"value":`, &e.Value)
	p.textIn(`,"base":`, &e.Base)
	p.textIn(`,"reason":`, &e.Reason)
	p.textIn(`,"error":`, &e.Error)
}

// command reads what appendCommand appends.
func (p *plain) command() *Command {
	var c Command
	p.require(`{"serial":`)
	c.Serial = p.number()
	p.require(`,"name":`)
	c.Name = p.text()
	p.textIn(`,"key":`, &c.Key)
	p.textIn(`,"token":`, &c.Token)
	p.numberIn(`,"expiry":`, &c.Expiry)
	if p.is(`,"effect":`) {
		c.Effect = oneAmong(effects, p.quoted())
	}
	c.Plain = p.is(`,"plain":true`)
	p.numberIn(`,"fence":`, &c.Fence)
	p.textIn(`,"base":`, &c.Base)
	p.textIn(`,"reply":`, &c.Reply)
	c.Done = p.is(`,"done":true`)
	p.require(`}`)
	return &c
}

// is reads this, if it comes next.
func (p *plain) is(this string) bool {
	if len(p.rest) < len(this) || string(p.rest[:len(this)]) != this {
		return false
	}
	p.rest = p.rest[len(this):]
	return true
}

func (p *plain) require(this string) {
	if !p.is(this) {
		p.failed = true
	}
}

// mostDigits is how many digits a number may have for an int64 to hold it, whatever
// they are.
const mostDigits = 18

// number reads a whole number. The point or exponent of any other is not what must
// follow it.
func (p *plain) number() int64 {
	digits := 0
	negative := p.is("-")
	var n int64
	for digits < len(p.rest) && digits <= mostDigits && p.rest[digits]-'0' <= 9 {
		n = 10*n + int64(p.rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > mostDigits || digits > 1 && p.rest[0] == '0' {
		p.failed = true
		return 0
	}
	p.rest = p.rest[digits:]
	if negative {
		return -n
	}
	return n
}

// quoted reads a string of printable ASCII without an escape.
func (p *plain) quoted() []byte {
	p.require(`"`)
	for i, c := range p.rest {
		switch {
		case c == '"':
			text := p.rest[:i]
			p.rest = p.rest[i+1:]
			return text
		case c < 0x20 || c >= 0x7f || c == '\\':
			p.failed = true
			return nil
		}
	}
	p.failed = true
	return nil
}

func (p *plain) text() string { return string(p.quoted()) }

// textIn reads a field that may be missing; name comes with its comma and colon.
func (p *plain) textIn(name string, to *string) {
	if p.is(name) {
		*to = p.text()
	}
}

func (p *plain) numberIn(name string, to *int64) {
	if p.is(name) {
		*to = p.number()
	}
}

func (p *plain) intIn(name string, to *int) {
	if p.is(name) {
		n := p.number()
		*to = int(n)
		p.failed = p.failed || int64(*to) != n // where an int has 32 bits
	}
}

// oneAmong makes a name of text, without an allocation if it is among these.
func oneAmong[T ~string](names []T, text []byte) T {
	for _, name := range names {
		if string(name) == string(text) {
			return name
		}
	}
	return T(text)
}
