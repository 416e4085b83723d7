package control

// Forks come in a file with Fork, which are to be made, and with Forget, of which only the secrets count.
type Forks struct {
	At   string // of Fork: the checkpoint that they are of, by number or label; "": the present
	Keep bool   // of Forget: the checkpoint that was made for them stays without them
	List []ForkOf
}

// ForkOf is a fork as its parent is to know it.
type ForkOf struct {
	Secret []byte
	Path   string
}
