package history

// parseFast reads a line in the very form in which appendEvent writes operations,
// commands and notes, which make up nearly all of a history, at a fraction of what
// encoding/json costs. It makes nothing of any other line, of one with an escape in
// it, say: that is encoding/json's to read, or to find fault with. Whatever it reads,
// encoding/json reads alike. It does not validate.
func parseFast(line []byte) (Event, bool) {
	var e Event
	p := fastParser{rest: line}
	p.require(`{"time":`)
	e.Time = p.number()
	p.require(`,"process":`)
	e.Process = p.text()
	p.require(`,"type":`)
	e.Type = internName(types, p.quoted())
	p.operation(&e)
	if p.consume(`,"command":`) {
		e.Command = p.command()
	}
	p.optionalText(`,"text":`, &e.Text)
	p.require(`}`)
	p.consume("\n")
	return e, !p.failed && len(p.rest) == 0
}

// fastParser reads a line from its left.
type fastParser struct {
	rest   []byte
	failed bool // the line is not in the form
}

// operation reads what appendOperation appends.
func (p *fastParser) operation(e *Event) {
	if p.consume(`,"op":`) {
		e.Op = internName(ops, p.quoted())
	}
	p.optionalInt(`,"id":`, &e.ID)
	p.optionalInt(`,"lease":`, &e.Lease)
	p.optionalText(`,"key":`, &e.Key)
	p.optionalText(`,"token":`, &e.Token)
	p.optionalNumber(`,"fence":`, &e.Fence)
	p.optionalNumber(`,"validity":`, &e.Validity)
	e.Wall = p.consume(`,"wall":true`)
	p.optionalText(`,"value":`, &e.Value)
	p.optionalText(`,"base":`, &e.Base)
	p.optionalText(`,"reason":`, &e.Reason)
	p.optionalText(`,"error":`, &e.Error)
}

// command reads what appendCommand appends.
func (p *fastParser) command() *Command {
	var c Command
	p.require(`{"serial":`)
	c.Serial = p.number()
	p.require(`,"name":`)
	c.Name = p.text()
	p.optionalText(`,"key":`, &c.Key)
	p.optionalText(`,"token":`, &c.Token)
	p.optionalNumber(`,"expiry":`, &c.Expiry)
	if p.consume(`,"effect":`) {
		c.Effect = internName(effects, p.quoted())
	}
	c.Unconditional = p.consume(`,"plain":true`)
	c.Extends = p.consume(`,"extends":true`)
	p.optionalNumber(`,"fence":`, &c.Fence)
	p.optionalText(`,"base":`, &c.Base)
	p.optionalText(`,"reply":`, &c.Reply)
	c.Done = p.consume(`,"done":true`)
	p.require(`}`)
	return &c
}

// consume reads this, if it comes next.
func (p *fastParser) consume(this string) bool {
	if len(p.rest) < len(this) || string(p.rest[:len(this)]) != this {
		return false
	}
	p.rest = p.rest[len(this):]
	return true
}

func (p *fastParser) require(this string) {
	if !p.consume(this) {
		p.failed = true
	}
}

// maxDigits is how many digits a number may have for an int64 to hold it, whatever
// they are.
const maxDigits = 18

// number reads a whole number. The point or exponent of any other is not what must
// follow it.
func (p *fastParser) number() int64 {
	digits := 0
	negative := p.consume("-")
	var n int64
	for digits < len(p.rest) && digits <= maxDigits && p.rest[digits]-'0' <= 9 {
		n = 10*n + int64(p.rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > maxDigits || digits > 1 && p.rest[0] == '0' {
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
func (p *fastParser) quoted() []byte {
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

func (p *fastParser) text() string { return string(p.quoted()) }

// optionalText reads a field that may be missing; name comes with its comma and colon.
func (p *fastParser) optionalText(name string, to *string) {
	if p.consume(name) {
		*to = p.text()
	}
}

func (p *fastParser) optionalNumber(name string, to *int64) {
	if p.consume(name) {
		*to = p.number()
	}
}

func (p *fastParser) optionalInt(name string, to *int) {
	if p.consume(name) {
		n := p.number()
		*to = int(n)
		p.failed = p.failed || int64(*to) != n // where an int has 32 bits
	}
}

// internName makes a name of text, without an allocation if it is among these.
func internName[T ~string](names []T, text []byte) T {
	for _, name := range names {
		if string(name) == string(text) {
			return name
		}
	}
	return T(text)
}
