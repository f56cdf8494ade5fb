package nemesis

// eachMessage is the modifier of a fault that begins at a message of its client's next operation.
const eachMessage = "each-message"

// checkEachMessage refuses it without a client.
func checkEachMessage(u Use) []Misuse {
	if !u.Modifiers[eachMessage] || len(u.Clients) > 0 {
		return nil
	}
	return []Misuse{{eachMessage, "a node has no operation to interrupt", "name a client, for example c1"}}
}
