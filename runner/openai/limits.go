package openai

// limits bounds what is taken of the answer to one request: a server may send for as long
// as it likes, and thousands of answers come at a time. Beyond them an answer is malformed.
type limits struct {
	// piece is the most bytes of what is held in memory: a frame, or an answer that isn't
	// streamed.
	piece int
	// frames is the most frames with output. Each has a token at least, but for servers
	// that cut a text into smaller ones.
	frames int
	// stream is the most bytes of a stream.
	stream int
}

const (
	// An answer has few bytes a token: its text, its id, perhaps its log-probabilities.
	pieceBase, pieceToken = 64 << 10, 1 << 10
	leastPiece, mostPiece = 1 << 20, 16 << 20
	// A stream wraps each token in a frame of some hundred bytes.
	streamBase, streamToken = 16 << 20, 16 << 10
	framesBase, framesToken = 1 << 10, 4

	// Products of the above with these stay within an int of 32 bits.
	mostTokens, mostFrames = 64 << 10, 1 << 28
)

// limitsOf are the limits of an answer of so many tokens to a request of so many bytes,
// which some servers repeat: as text, and as token ids. maxFrame replaces the limit of a
// piece; 0: it doesn't.
func limitsOf(maxTokens, request, maxFrame int) limits {
	tokens := min(maxTokens, mostTokens)
	l := limits{
		piece:  min(max(pieceBase+pieceToken*tokens, leastPiece), mostPiece) + 2*request,
		frames: framesBase + framesToken*min(maxTokens, mostFrames),
		stream: streamBase + streamToken*tokens + 2*request,
	}
	if maxFrame > 0 {
		l.piece = maxFrame
	}
	return l
}
