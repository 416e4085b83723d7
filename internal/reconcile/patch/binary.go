package patch

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// literal writes content as a hunk of a binary patch: its size, then its bytes, compressed with zlib
// and in lines of base 85, each of which begins with a letter for the number of its bytes (A to Z are
// 1 to 26, a to z 27 to 52), then an empty line.
func literal(b *strings.Builder, data []byte) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(data) // to memory
	z.Close()
	fmt.Fprintf(b, "literal %d\n", len(data))
	const lineBytes = 52
	for rest := packed.Bytes(); len(rest) > 0; {
		n := min(len(rest), lineBytes)
		if n <= 26 {
			b.WriteByte(byte('A' + n - 1))
		} else {
			b.WriteByte(byte('a' + n - 27))
		}
		base85(b, rest[:n])
		b.WriteByte('\n')
		rest = rest[n:]
	}
	b.WriteByte('\n')
}

// alphabet is git's, the one of RFC 1924.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85 writes each four bytes as five digits; the last ones are filled up with zeros.
func base85(b *strings.Builder, data []byte) {
	for len(data) > 0 {
		var group [4]byte
		data = data[copy(group[:], data):]
		n := uint32(group[0])<<24 | uint32(group[1])<<16 | uint32(group[2])<<8 | uint32(group[3])
		var digits [5]byte
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i] = alphabet[n%85]
			n /= 85
		}
		b.Write(digits[:])
	}
}
