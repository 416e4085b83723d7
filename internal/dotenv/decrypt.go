package dotenv

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
)

const (
	// PrivateKey is the variable with the key, or several with commas between, that
	// opens what is encrypted. Nothing whose name begins so is for a guest.
	PrivateKey = "DOTENV_PRIVATE_KEY"
	// publicKey is the variable in a file that others encrypt with.
	publicKey = "DOTENV_PUBLIC_KEY"
	// encrypted begins an encrypted value.
	encrypted = "encrypted:"
)

// Encrypted says whether a value of vars is.
func Encrypted(vars []Variable) bool {
	for _, v := range vars {
		if strings.HasPrefix(v.Value, encrypted) {
			return true
		}
	}
	return false
}

// Decrypt returns vars with their values decrypted by one of keys, in hexadecimal
// and with commas between, and without those that are about encryption. A value
// that none of them opens is an error; errors, which begin with the file's name,
// tell no value.
func Decrypt(name string, vars []Variable, keys string) ([]Variable, error) {
	var private []*secp256k1.PrivateKey
	for key := range strings.SplitSeq(keys, ",") {
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		raw, err := hex.DecodeString(key)
		if err != nil || len(raw) != secp256k1.PrivKeyBytesLen {
			return nil, fmt.Errorf("%s: decrypt: a key in %s is not %d bytes in hexadecimal", name, PrivateKey, secp256k1.PrivKeyBytesLen)
		}
		private = append(private, secp256k1.PrivKeyFromBytes(raw))
	}
	var out []Variable
	for _, v := range vars {
		if v.Name == publicKey || strings.HasPrefix(v.Name, PrivateKey) {
			continue
		}
		if sealed, ok := strings.CutPrefix(v.Value, encrypted); ok {
			value, err := open(sealed, private)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: decrypt %s: %w", name, v.Line, v.Name, err)
			}
			v.Value = value
		}
		out = append(out, v)
	}
	return out, nil
}

// Opens tells whether a variable is not encrypted, or one of keys opens it.
func Opens(v Variable, keys string) bool {
	_, err := Decrypt("", []Variable{v}, keys)
	return err == nil
}

func open(sealed string, keys []*secp256k1.PrivateKey) (string, error) {
	if len(keys) == 0 {
		return "", fmt.Errorf("there is no key: neither %s is set nor a .env.keys there", PrivateKey)
	}
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errors.New("it is not in base64")
	}
	for _, key := range keys {
		if value, err := unseal(data, key); err == nil {
			return value, nil
		}
	}
	return "", errors.New("none of the keys decrypts it")
}

// unseal opens a message of eciesjs (https://ecies.org): the sender's public key,
// a nonce, the tag and the ciphertext of AES-256-GCM, whose key comes by HKDF with
// SHA-256 from the sender's public key and the shared point.
func unseal(data []byte, key *secp256k1.PrivateKey) (string, error) {
	const public, nonce, tag = 65, 16, 16
	if len(data) < public+nonce+tag {
		return "", errors.New("it is too short")
	}
	sender, err := secp256k1.ParsePubKey(data[:public])
	if err != nil {
		return "", err
	}
	var point, shared secp256k1.JacobianPoint
	sender.AsJacobian(&point)
	secp256k1.ScalarMultNonConst(&key.Key, &point, &shared)
	shared.ToAffine()
	secret := append(sender.SerializeUncompressed(), secp256k1.NewPublicKey(&shared.X, &shared.Y).SerializeUncompressed()...)
	symmetric, err := hkdf.Key(sha256.New, secret, nil, "", 32)
	if err != nil {
		return "", err
	}
	block, err := aes.NewCipher(symmetric)
	if err != nil {
		return "", err
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, nonce)
	if err != nil {
		return "", err
	}
	data = data[public:]
	text := append(append([]byte{}, data[nonce+tag:]...), data[nonce:nonce+tag]...) // Go wants the tag last
	plain, err := gcm.Open(nil, data[:nonce], text, nil)
	return string(plain), err
}
